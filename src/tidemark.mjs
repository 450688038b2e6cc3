#!/usr/bin/env node
// The command `tidemark`: the built program, without installing or building anything.
await import("../dist/service/src/main.js");
