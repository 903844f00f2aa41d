// Records the chat and the spans of testdata/mapped, with ai 7.0.173, @ai-sdk/otel 1.0.173 and a model of a script:
//
//     npm install ai@7.0.173 @ai-sdk/otel@1.0.173 zod @opentelemetry/sdk-trace-base @opentelemetry/otlp-transformer
//     node record.mjs OUT
//
// ai-sdk.json is what the storage of the AI SDK's own guide of message persistence writes, a list of UIMessages; otlp.jsonl is what
// OpenTelemetry's file exporters write: an export a line, of the spans of steps and of calls to the model, without the tools.

import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { trace } from '@opentelemetry/api';
import { OpenTelemetry } from '@ai-sdk/otel';
import { convertToModelMessages, registerTelemetry, simulateReadableStream, stepCountIs, streamText, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const out = process.argv[2];
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
registerTelemetry(new OpenTelemetry());

const usage = { inputTokens: { total: 30, noCache: 10, cacheRead: 20, cacheWrite: 0 }, outputTokens: { total: 7, text: 7, reasoning: 0 } };
const say = text => [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: text }, { type: 'text-end', id: 't' }];
const think = text => [{ type: 'reasoning-start', id: 'r' }, { type: 'reasoning-delta', id: 'r', delta: text }, { type: 'reasoning-end', id: 'r' }];
const call = (id, name, input) => [{ type: 'tool-call', toolCallId: id, toolName: name, input: JSON.stringify(input) }];
const script = [
  [...say('Hello, what do you want to know?')],
  [...think('The weather needs the tool.'), ...say('I look it up.'), ...call('call-1', 'weather', { city: 'Lyon' }), ...call('call-2', 'weather', { city: 'nowhere' })],
  [...say('It is 21 °C in Lyon, and nowhere has no weather.')],
  [...say('You are welcome.')],
];
let turn = 0;
const model = new MockLanguageModelV4({
  modelId: 'scripted-1', provider: 'scripted',
  doStream: async () => {
    const parts = script[turn++];
    const reason = parts.some(p => p.type === 'tool-call') ? 'tool-calls' : 'stop';
    return { stream: simulateReadableStream({ chunks: [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason: { unified: reason, raw: reason }, usage }] }) };
  },
});
const tools = {
  weather: tool({
    description: 'The weather in a city.', inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => { if (city === 'nowhere') throw new Error('no such city'); return { city, celsius: 21 }; },
  }),
};

let messages = [];
let ids = 0;
async function chat(text) {
  messages = [...messages, { id: `user-${++ids}`, role: 'user', parts: [{ type: 'text', text }] }];
  const result = streamText({ model, tools, messages: await convertToModelMessages(messages), stopWhen: stepCountIs(5), telemetry: { isEnabled: true, functionId: 'chat' } });
  const response = result.toUIMessageStreamResponse({
    originalMessages: messages, generateMessageId: () => `answer-${ids}`,
    onFinish: ({ messages: all }) => { messages = all; },
  });
  await response.text();
}
await chat('hello');
await chat('How is the weather in Lyon, and nowhere?');
await chat('thanks');
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'ai-sdk.json'), JSON.stringify(messages, null, 2));
const spans = exporter.getFinishedSpans().filter(span => /^(chat|step) /.test(span.name));
for (const span of spans) delete span.attributes['gen_ai.tool.definitions'];
const lines = spans.map(span => new TextDecoder().decode(JsonTraceSerializer.serializeRequest([span])));
writeFileSync(join(out, 'otlp.jsonl'), lines.join('\n') + '\n');
