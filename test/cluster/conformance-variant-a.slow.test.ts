import { clusterConformance } from "./conformance.js";

clusterConformance("A");
