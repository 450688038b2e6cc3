import { render } from "preact";
import { startRouter } from "./router.js";
import { openSession } from "./session.js";
import { App } from "./shell/App.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import "./styles/lists.css";
import "./styles/chart.css";
import "./styles/map.css";
import "./styles/explore.css";

startRouter();
void openSession();
render(<App />, document.body);
