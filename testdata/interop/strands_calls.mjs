// Asks the real Strands SDK for TypeScript what a call does at each place where a
// snapshot can stand.
//
//   node testdata/interop/strands_calls.mjs
//
// from a folder in which the packages are. Prints one line of JSON for
// testdata/strands/calls-typescript.jsonl; the tests of store/kinds/strands/snapshots read it.
// Run it by hand, for a new SDK. Nothing here is a stand-in but the model.
//
// For each place, as a snapshot says it, and for each call: "sent", the messages that
// the model is sent; "ran", the tools that ran; "error", what was raised; "held", the
// messages that an agent holds when it has started. And "writes", the members of the
// data that the SDK itself saves, and "layouts", the storages that it has. A message is
// the first letter of its role and its blocks: t for a text, U for a tool call, R for a
// result.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const here = createRequire(path.join(process.cwd(), 'x.js'))
const load = async (name) => import(pathToFileURL(here.resolve(name)))
const { Agent, Model, SessionManager, FileStorage, tool } = await load('@strands-agents/sdk')
const { LocalFileStorage } = await load('@strands-agents/sdk/storage').catch(() => ({}))
const { z } = await load('zod')

const letter = (block) => (block.toolResult ? 'R' : block.toolUse ? 'U' : 't')
const brief = (messages) =>
  JSON.parse(JSON.stringify(messages))
    .map((message) => message.role[0] + '.' + message.content.map(letter).join(''))
    .join(' ')

class Resumed extends Model {
  sent = []
  updateConfig() {}
  getConfig() {
    return { modelId: 'resumed' }
  }
  async *stream(messages) {
    this.sent.push(brief(messages))
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield { type: 'modelContentBlockStartEvent' }
    yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: 'resumed' } }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' }
  }
}

const user = { role: 'user', content: [{ text: 'hi' }] }
const call = {
  role: 'assistant',
  content: ['1', '2'].map((x) => ({ toolUse: { toolUseId: 'a' + x, name: 'alpha', input: { x } } })),
}
const results = ['1', '2'].map((x) => ({ toolResult: { toolUseId: 'a' + x, status: 'success', content: [{ text: 'r' }] } }))
const result = { role: 'user', content: results }
const answer = { role: 'assistant', content: [{ text: 'done' }] }
const held = (completedToolResults) => ({ assistantMessageData: call, completedToolResults })
const waits = { id: 'hook:beforeToolCall:a1:approve', name: 'approve', source: 'hook', reason: 'really?' }
const places = {
  user: { messages: [user] },
  call: { messages: [user, call] },
  result: { messages: [user, call, result] },
  answer: { messages: [user, call, result, answer] },
  held: { messages: [user], interrupts: { interrupts: {}, activated: false, pendingToolExecution: held({}) } },
  'half held': { messages: [user], interrupts: { interrupts: {}, activated: false, pendingToolExecution: held({ a1: results[0] }) } },
  interrupt: { messages: [user], interrupts: { interrupts: { [waits.id]: waits }, activated: true, pendingToolExecution: held({}) } },
  'amid, no result': { messages: [user, call, user] },
  'amid, half a result': { messages: [user, call, { role: 'user', content: [results[0]] }, answer] },
  'amid, orphaned': { messages: [user, answer, result, answer] },
  leading: { messages: [result, answer] },
  audio: { messages: [{ role: 'user', content: [{ audio: { format: 'mp3', source: { bytes: 'AAAA' } } }] }] },
}
const calls = {
  'invoke(undefined)': [],
  'invoke([])': [[]],
  'invoke("…")': ['go on'],
  'invoke([{ interruptResponse }])': [[{ interruptResponse: { interruptId: waits.id, response: 'yes' } }]],
}

function agentOf(model, ran, root) {
  const agent = new Agent({
    model,
    tools: [
      tool({
        name: 'alpha',
        description: 'Does nothing.',
        inputSchema: z.object({ x: z.string() }),
        callback: ({ x }) => {
          ran.push('alpha ' + x)
          return 'r'
        },
      }),
    ],
    sessionManager: new SessionManager({ sessionId: 's', storage: { snapshot: new FileStorage(root) }, saveLatestOn: 'invocation' }),
    printer: false,
  })
  return agent
}

async function asked(place, input) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'calls-'))
  const latest = path.join(root, 's/scopes/agent/agent/snapshots/snapshot_latest.json')
  fs.mkdirSync(path.dirname(latest), { recursive: true })
  const data = { state: {}, systemPrompt: null, modelState: {}, ...places[place] }
  fs.writeFileSync(latest, JSON.stringify({ scope: 'agent', schemaVersion: '1.0', createdAt: '2026-03-01T10:00:00.000Z', data, appData: {} }))
  const [model, ran, did] = [new Resumed(), [], {}]
  try {
    const agent = agentOf(model, ran, root)
    await agent.initialize()
    did.held = brief(agent.messages)
    await agent.invoke(...input)
  } catch (err) {
    did.error = `${err.name}: ${err.message}`.slice(0, 120)
  }
  const saved = JSON.parse(fs.readFileSync(latest)).data
  fs.rmSync(root, { recursive: true })
  return { sent: model.sent, ran, ...did, saved: brief(saved.messages), writes: Object.keys(saved).sort().join(' ') }
}

for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = () => {}
const answers = {}
let writes = ''
for (const place of Object.keys(places)) {
  answers[place] = {}
  for (const [name, input] of Object.entries(calls)) {
    const did = await asked(place, input)
    if (place === 'user' && name === 'invoke(undefined)') writes = did.writes
    delete did.writes
    answers[place][name] = did
  }
}
const layouts = ['legacy', ...(LocalFileStorage ? ['unified'] : [])]
const sdk = JSON.parse(fs.readFileSync(path.join(path.dirname(here.resolve('@strands-agents/sdk')), '../../package.json'))).version
process.stdout.write(JSON.stringify({ sdk, layouts, writes, places: answers }) + '\n')
