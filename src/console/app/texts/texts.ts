/** All texts of the console, each in English and Chinese. `{name}` stands for a value. */
import { adminTexts } from "./admin.js";
import { backupsTexts } from "./backups.js";
import { boardTexts } from "./boards.js";
import { codesTexts } from "./codes.js";
import { commandsTexts } from "./commands.js";
import { deviceTexts } from "./device.js";
import { exploreTexts } from "./explore.js";
import { fleetTexts } from "./fleet.js";
import { formulaTexts } from "./formula.js";
import { listsTexts } from "./lists.js";
import { mapTexts } from "./map.js";
import { messageTexts } from "./message.js";
import { overviewTexts } from "./overview.js";
import { searchTexts } from "./search.js";
import { shellTexts } from "./shell.js";
import { startTexts } from "./start.js";
import { streamsTexts } from "./streams.js";
import { systemTexts } from "./system.js";
import { tasksTexts } from "./tasks.js";

export const texts = {
  ...boardTexts,
  ...commandsTexts,
  ...adminTexts,
  ...shellTexts,
  ...listsTexts,
  ...codesTexts,
  ...exploreTexts,
  ...deviceTexts,
  ...overviewTexts,
  ...fleetTexts,
  ...startTexts,
  ...mapTexts,
  ...searchTexts,
  ...tasksTexts,
  ...streamsTexts,
  ...systemTexts,
  ...backupsTexts,
  ...formulaTexts,
  ...messageTexts,
} as const;

export type TextKey = keyof typeof texts;
