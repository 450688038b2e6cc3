import { render } from "preact";
import { startKeys } from "./keys/keys.js";
import { lazily } from "./lazy.js";
import { startLive } from "./live/link.js";
import { preloadPage } from "./pages/pages.js";
import { watchPerson } from "./person.js";
import { path, startRouter } from "./router.js";
import { followOtherWindows, openSession } from "./session.js";
import { App } from "./shell/App.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import "./styles/lists.css";
import "./styles/chart.css";
import "./styles/map.css";
import "./styles/explore.css";
import "./styles/formula.css";
import "./styles/messages.css";
import "./styles/boards.css";
import "./styles/search.css";
import "./styles/tasks.css";
import "./styles/system.css";
import "./styles/commands.css";

const SharedPage = lazily(async () => (await import("./dashboards/SharedPage.js")).SharedPage);

startRouter();
// A visitor of a share has no session and needs none.
const isShared = path.value.startsWith("/shared/");
// A page of another site may show a share, and never what somebody who is logged in sees.
const isFramed = window.top !== window;
if (!isShared && !isFramed) {
  followOtherWindows();
  void openSession();
  preloadPage(path.value);
  startLive();
  watchPerson();
  startKeys();
}
if (isShared || !isFramed) render(isShared ? <SharedPage /> : <App />, document.body);
