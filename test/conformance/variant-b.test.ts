import { conformance } from "./conformance.js";

conformance("B");
