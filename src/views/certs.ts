import type { Cert, CertListed } from "../../store/metadata/policies/certs.js";
import type { Stamped, ViewContext } from "./context.js";

export function certListed({ id, name, enable, createAt }: CertListed, { stamp }: Stamped) {
  return { id, name, enable, createAt: stamp(createAt) };
}

/** The answer to an edit; viewers do not see the private key. */
export function certStored(cert: Cert, { stamp, secrets }: ViewContext) {
  return {
    ...certListed(cert, { stamp }),
    CN: cert.CN,
    cert: cert.cert,
    key: secrets ? cert.key : null,
    root: cert.root,
    updateAt: stamp(cert.updateAt),
  };
}

export function certDetail(cert: Cert, context: ViewContext) {
  return { ...certStored(cert, context), createUser: cert.createUser };
}
