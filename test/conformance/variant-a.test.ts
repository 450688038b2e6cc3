import { conformance } from "./conformance.js";

conformance("A");
