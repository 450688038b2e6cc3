import { suite } from "../suite.js";
import { defineKillTest } from "./kill.js";

suite("kill -9, embedded store", (test) => defineKillTest(test, async () => ({})));
