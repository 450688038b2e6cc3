import { render } from "preact";
import { startKeys } from "./keys/keys.js";
import { startRouter } from "./router.js";
import { openSession } from "./session.js";
import { App } from "./shell/App.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import "./styles/lists.css";
import "./styles/chart.css";
import "./styles/search.css";
import "./styles/tasks.css";
import "./styles/system.css";

startRouter();
startKeys();
void openSession();
render(<App />, document.body);
