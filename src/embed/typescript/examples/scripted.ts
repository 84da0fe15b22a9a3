// Models that follow a script: they ask for one tool call and repeat what came of it.

import type { MastraModelConfig } from "@mastra/core/llm";
import type { Model, ModelRequest, ModelResponse } from "@openai/agents";
import { Usage } from "@openai/agents";
import { MockLanguageModelV3 } from "ai/test";

const WANTED = { tool: "shell_exec", args: { command: "make deploy" } };

/** A model for Mastra. It takes models of the AI SDK, and types them more narrowly. */
export function mastraModel(): MastraModelConfig {
  return languageModel() as unknown as MastraModelConfig;
}

/** A model for the AI SDK. */
export function languageModel(): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1);
      const part = last?.role === "tool" ? last.content.at(-1) : undefined;
      const input = JSON.stringify(WANTED.args);
      const wanted = { toolCallId: "call-1", toolName: WANTED.tool, input };
      const call = { type: "tool-call", ...wanted } as const;
      const text = `done: ${JSON.stringify(part?.type === "tool-result" ? part.output : part)}`;
      const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
      return {
        content: [part === undefined ? call : { type: "text", text }],
        finishReason: { unified: part === undefined ? "tool-calls" : "stop", raw: undefined },
        usage: { inputTokens: tokens, outputTokens: tokens },
        warnings: [],
      };
    },
  });
}

/** A model for OpenAI's Agents SDK. */
export class OpenAIModel implements Model {
  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const last = typeof input === "string" ? undefined : input.at(-1);
    const result = last?.type === "function_call_result" ? JSON.stringify(last.output) : undefined;
    const args = JSON.stringify(WANTED.args);
    const wanted = { callId: "call-1", name: WANTED.tool, arguments: args };
    const call = { type: "function_call", ...wanted } as const;
    const content = [{ type: "output_text" as const, text: `done: ${result}` }];
    const said = { type: "message", role: "assistant", status: "completed", content } as const;
    return { usage: new Usage(), output: [result === undefined ? call : said] };
  }

  async *getStreamedResponse(): AsyncIterable<never> {
    throw new Error("this model does not stream");
  }
}
