/**
 * Runs programs on the input of tenants in QuickJS, a JavaScript engine inside WebAssembly: their steps, memory and
 * output are limited, and an engine that fails takes nothing else with it.
 */
import variant from "@jitl/quickjs-singlefile-mjs-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSWASMModule,
} from "quickjs-emscripten-core";

/** What JSON can write; undefined members are left out. */
type JSONValue = unknown;

type HostFunction = (...input: JSONValue[]) => JSONValue;

export interface SandboxProgram {
  /** Scripts in the order in which they run, once; `call` calls the functions that they leave in the global scope. */
  readonly scripts: readonly { readonly name: string; readonly text: string }[];
  /** Functions of ours, of texts and numbers, that the program may call; what they throw is thrown in the program. */
  readonly hostFunctions?: Readonly<Record<string, HostFunction>>;
  /** Bytes of all that the program holds. */
  readonly memoryBytesMax: number;
}

interface CallLimits {
  /** A step is about 10,000 calls and loop iterations of the program; the same input always takes as many. */
  readonly stepsMax: number;
  /** UTF-16 units of the result's JSON text. */
  readonly outputLengthMax: number;
}

/** `thrown`: by the program itself. `engine`: the engine has failed, or was closed. */
type SandboxFault = "steps" | "memory" | "output" | "thrown" | "engine";

export class SandboxError extends Error {
  constructor(
    readonly fault: SandboxFault,
    message: string,
  ) {
    super(message);
    this.name = "SandboxError";
  }
}

export interface Sandbox {
  /**
   * Calls a global function of the program with one argument; blocks the thread until it returns. After an error other
   * than `output` and `thrown` the sandbox is closed. @throws SandboxError
   */
  call(name: string, input: JSONValue, limits: CallLimits): JSONValue;
  /** Drops the engine with all that it holds. */
  close(): void;
}

/** The memory of WebAssembly, which the types of Node.js 20 lack. */
const { Memory } = Reflect.get(globalThis, "WebAssembly") as {
  readonly Memory: new (pages: {
    readonly initial: number;
    readonly maximum: number;
  }) => ReturnType<QuickJSWASMModule["getWasmMemory"]>;
};

const pageBytes = 65_536;
/** Pages of the engine itself: its stack, tables and the first page of its heap. */
const enginePages = 256;
/** Steps of the scripts before the first call; they are ours. */
const startStepsMax = 10_000;

/** Opens an engine of its own, with a memory of its own. @throws SandboxError if the scripts fail */
export async function openSandbox(program: SandboxProgram): Promise<Sandbox> {
  const { scripts, hostFunctions = {}, memoryBytesMax } = program;
  const wasmMemory = new Memory({
    initial: enginePages,
    // The engine's own limit comes first; this one holds even if the engine is at fault.
    maximum: enginePages + Math.ceil(memoryBytesMax / pageBytes),
  });
  const engine = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory }));
  const runtime = engine.newRuntime({ memoryLimitBytes: memoryBytesMax });
  const context = runtime.newContext();
  let stepsLeft = startStepsMax;
  runtime.setInterruptHandler(() => --stepsLeft < 0);
  let isOpen = true;

  /** What traps in WebAssembly leaves the engine in no known state. */
  function run<T>(work: () => T): T {
    if (!isOpen) throw new SandboxError("engine", "the sandbox is closed");
    try {
      return work();
    } catch (error) {
      const known = error instanceof SandboxError ? error : new SandboxError("engine", reasonOf(error));
      if (known.fault !== "thrown" && known.fault !== "output") isOpen = false;
      throw known;
    }
  }

  function unwrap(result: ReturnType<QuickJSContext["evalCode"]>): QuickJSHandle {
    if (stepsLeft < 0) throw tooLong();
    if (result.error === undefined) return result.value;
    const thrown = result.error.consume((handle) => describeThrown(context, handle));
    if (/^(?:InternalError: )?out of memory/.test(thrown)) {
      throw new SandboxError("memory", `takes more than ${memoryBytesMax / 2 ** 20} MiB of memory`);
    }
    throw new SandboxError("thrown", thrown);
  }

  const callJSON = run(() => {
    const made = unwrap(context.evalCode(callScript, "sandbox.js"));
    for (const [name, hostFunction] of Object.entries(hostFunctions)) {
      defineHostFunction(context, name, hostFunction, (characters) => {
        stepsLeft -= characters / hostCharactersOfStep;
        if (stepsLeft < 0) throw tooLong();
      });
    }
    for (const { name, text } of scripts) unwrap(context.evalCode(text, name)).dispose();
    return made;
  });

  return {
    call: (name, input, { stepsMax, outputLengthMax }) =>
      run(() => {
        stepsLeft = stepsMax;
        const given = [context.newString(name), context.newString(JSON.stringify(input) ?? "null")];
        const result = context.callFunction(callJSON, context.undefined, ...given);
        for (const handle of given) handle.dispose();
        return unwrap(result).consume((text) => {
          if (context.typeof(text) !== "string") throw new SandboxError("thrown", "returns no JSON value");
          if (lengthOf(context, text) > outputLengthMax) {
            throw new SandboxError("output", `makes more than ${outputLengthMax} characters`);
          }
          return JSON.parse(context.getString(text)) as JSONValue;
        });
      }),
    // Its memory is its own: there is nothing to tidy up in it.
    close: () => {
      isOpen = false;
    },
  };
}

const tooLong = (): SandboxError => new SandboxError("steps", "computes too long");

/** Makes the function by which values cross as JSON texts; it runs first, so that no program puts another `JSON` there. */
const callScript =
  "(({ parse, stringify }) => (name, input) => stringify(globalThis[name](parse(input)) ?? null))(JSON)";

/** Characters of one text that a program gives to a host function, and those that count as a step. */
const hostTextLengthMax = 2 ** 20;
const hostCharactersOfStep = 10_000;
const plainTypes: readonly string[] = ["string", "number", "boolean", "undefined"];

function defineHostFunction(
  context: QuickJSContext,
  name: string,
  hostFunction: HostFunction,
  charge: (characters: number) => void,
): void {
  const readInput = (handle: QuickJSHandle): JSONValue => {
    const type = context.typeof(handle);
    if (!plainTypes.includes(type)) throw new Error("takes texts and numbers");
    const length = type === "string" ? lengthOf(context, handle) : 0;
    if (length > hostTextLengthMax) throw new Error(`takes texts of at most ${hostTextLengthMax} characters`);
    charge(length);
    return context.dump(handle) as JSONValue;
  };
  const define = (handle: QuickJSHandle): void => context.setProp(context.global, name, handle);
  context
    .newFunction(name, (...input) => {
      const made = JSON.stringify(hostFunction(...input.map(readInput)));
      return context.unwrapResult(context.evalCode(`(${made})`));
    })
    .consume(define);
}

const lengthOf = (context: QuickJSContext, text: QuickJSHandle): number =>
  context.getProp(text, "length").consume((length) => context.getNumber(length));

/** Characters of an error that are read; what is larger would be copied into the thread's own memory. */
const thrownLengthMax = 1000;

/** The text of what was thrown, with the name of an error of the engine before it. */
function describeThrown(context: QuickJSContext, handle: QuickJSHandle): string {
  const textOf = (text: QuickJSHandle): string => {
    if (context.typeof(text) !== "string") return "";
    const length = lengthOf(context, text);
    return length > thrownLengthMax ? `an error of ${length} characters` : context.getString(text);
  };
  if (context.typeof(handle) !== "object") return textOf(handle) || "what was thrown is no error";
  try {
    const [name, message] = ["name", "message"].map((field) =>
      context.getProp(handle, field).consume(textOf),
    );
    return name === "InternalError" ? `${name}: ${message}` : message || "an error without a message";
  } catch {
    return "what was thrown cannot be read";
  }
}

/** The engine's own stack may hold more than that of the thread, which then ends it. */
const reasonOf = (error: unknown): string =>
  error instanceof RangeError ? "nests too deeply" : `the engine failed: ${String(error)}`;
