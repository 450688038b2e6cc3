import { t } from "../../i18n.js";
import type { MapPanel } from "../document.js";
import { TargetInput } from "../TargetInput.js";
import { OptionInput } from "./OptionInput.js";
import type { FormOf } from "./panel-form.js";

export function MapFields({ panel, variables, onPanel }: FormOf<MapPanel>) {
  const { deviceIDs: _, groupID, productID, ...rest } = panel;
  const kind = groupID !== undefined ? "group" : productID !== undefined ? "product" : undefined;
  return (
    <>
      <OptionInput
        name={t("board.devicesOf")}
        value={kind}
        empty={t("board.allDevices")}
        options={[
          ["group", t("title.groups")],
          ["product", t("nav.products")],
        ]}
        onValue={(next) =>
          onPanel(next === undefined ? rest : { ...rest, [next === "group" ? "groupID" : "productID"]: "" })
        }
      />
      {kind !== undefined && (
        <TargetInput
          name={t(kind === "group" ? "board.group" : "fleet.product")}
          type={kind}
          value={groupID ?? productID ?? ""}
          variables={variables}
          onValue={(value) => onPanel({ ...rest, [kind === "group" ? "groupID" : "productID"]: value })}
        />
      )}
    </>
  );
}
