import { clusterConformance } from "./conformance.js";

clusterConformance("B");
