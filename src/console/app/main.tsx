import { render } from "preact";
import { startLive } from "./live/link.js";
import { startRouter } from "./router.js";
import { followOtherWindows, openSession } from "./session.js";
import { App } from "./shell/App.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import "./styles/lists.css";
import "./styles/chart.css";

startRouter();
followOtherWindows();
void openSession();
startLive();
render(<App />, document.body);
