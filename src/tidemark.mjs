#!/usr/bin/env -S node --max-semi-space-size=24
// The command `tidemark`: the built program, without installing or building anything.
await import("../dist/src/main.js");
