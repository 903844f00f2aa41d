// Drives the real Strands SDK for TypeScript with a model that says what it is
// told to.
//
// interop_test.go starts it, in the folder in which the packages are, and gives it
// one command a line on its standard input, as JSON; each is answered by one line.
// No network is used, and nothing here is a stand-in but the model.
//
//     {"do": "write", "dir": D, "store": "unified", "scenario": "tool"}
//     {"do": "resume", "dir": D, "store": "unified", "scenario": "tool",
//      "session": S, "agent": A, "call": "agent.invoke(undefined)"}
//
// A store is "unified" (LocalFileStorage) or "legacy" (FileStorage), with a snapshot
// after each invocation. A call is JavaScript; it is evaluated as it stands in the
// plan that Hindcast made, with the agent, Graph or Swarm under that name, and its
// method as invoke. Where the call leaves a person to give an answer (an … that is
// no text), the answer is "yes".
//
// The answers are those of the driver for Python, which says what is in them.

import path from 'node:path'
import readline from 'node:readline'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const here = createRequire(path.join(process.cwd(), 'here.js'))
const load = async (name) => import(pathToFileURL(here.resolve(name)))
const { Agent, FileStorage, Graph, Model, SessionManager, SlidingWindowConversationManager, Swarm, BeforeToolCallEvent, tool } =
  await load('@strands-agents/sdk')
const { LocalFileStorage } = await load('@strands-agents/sdk/storage').catch(() => ({})) // since 1.10
const { BeforeNodeCallEvent } = await load('@strands-agents/sdk/multiagent')
const { z } = await load('zod')

const plain = (value) => JSON.parse(JSON.stringify(value))
const text = (words) => ({ text: words })
const use = (name, number, input) => ({ toolUse: { name, toolUseId: `tooluse_${name}_${number}`, input } })

// Script says one line after the other, and then "resumed" for ever. A line is a
// list of blocks, an error that it raises, or what a guardrail does.
class Script extends Model {
  constructor(lines = [], heard) {
    super()
    Object.assign(this, { lines: [...lines], seen: [], heard })
  }
  updateConfig() {}
  getConfig() {
    return { modelId: 'script' }
  }
  async *stream(messages) {
    this.seen.push(plain(messages))
    this.heard?.()
    let line = this.lines.shift() ?? [text('resumed')]
    if (line instanceof Error) throw line
    const { redacts } = line
    if (redacts) line = [text(line.says)]
    let stopReason = redacts ? 'guardrailIntervened' : 'endTurn'
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    for (const block of line) {
      if (block.toolUse) {
        stopReason = 'toolUse'
        const { name, toolUseId, input } = block.toolUse
        yield { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name, toolUseId } }
        yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'toolUseInputDelta', input: JSON.stringify(input) } }
      } else if (block.reasoning) {
        yield { type: 'modelContentBlockStartEvent' }
        yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'reasoningContentDelta', ...block.reasoning } }
      } else {
        yield { type: 'modelContentBlockStartEvent' }
        yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: block.text } }
      }
      yield { type: 'modelContentBlockStopEvent' }
    }
    yield { type: 'modelMessageStopEvent', stopReason }
    if (redacts) yield { type: 'modelRedactionEvent', inputRedaction: { replaceContent: redacts } }
    yield { type: 'modelMetadataEvent', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, metrics: { latencyMs: 7 } }
  }
}

// The tools. Each notes that it ran, and gives the same every time.
function tools(ran) {
  const make = (name, inputSchema, callback) =>
    tool({
      name,
      description: name,
      inputSchema,
      callback: (input, context) => {
        ran.push(name)
        return callback(input, context)
      },
    })
  return [
    make('add', z.object({ a: z.number(), b: z.number() }), ({ a, b }) => a + b),
    make('weather', z.object({ city: z.string() }), ({ city }) => ({ city, celsius: 18.5, words: 'rain ☂' })),
    make('boom', z.object({ why: z.string() }), ({ why }) => {
      throw new Error('boom: ' + why)
    }),
    make('delete', z.object({ path: z.string() }), ({ path }) => 'deleted ' + path),
    make('remember', z.object({ key: z.string(), value: z.string() }), ({ key, value }, context) => {
      context.agent.appState.set(key, value)
      return 'kept'
    }),
  ]
}

// The scenarios of one agent: what its model says and what it is asked. A thing
// that is asked may be a function of the agent, for what happens between the turns.
const sets = (key, value) => (agent) => agent.appState.set(key, value)
const scenarios = {
  turns: { lines: [[text('hello')], [text('two — ☕ 你好')], [text('bye')]], asked: ['hi', 'and two?', 'bye'] },
  tool: {
    lines: [[text('let me see'), use('add', 1, { a: 1, b: 2 })], [text('it is 3')], [text('you are welcome')]],
    asked: ['1+2?', 'thanks'],
  },
  parallel: {
    lines: [
      [{ reasoning: { text: 'two at once', signature: 'sig==' } }, use('add', 1, { a: 19, b: 23 }), use('weather', 2, { city: 'Oslo' })],
      [use('add', 3, { a: 42, b: 1 })],
      [text('43, and it rains')],
      [text('bye')],
    ],
    asked: ['a sum and the weather', 'bye'],
  },
  failing: {
    lines: [[use('boom', 1, { why: 'demo' }), use('add', 2, { a: 1, b: 1 })], [text('one failed')], new Error('the model is away'), [text('back again')]],
    asked: ['break something', 'are you there?', 'and now?'],
  },
  interrupt: {
    lines: [[text('hello')], [text('deleting'), use('weather', 1, { city: 'Rome' }), use('delete', 2, { path: '/tmp/x' })]],
    asked: ['hi', 'delete it'],
    gate: true,
  },
  sliding: {
    lines: [0, 1, 2, 3, 4].map((i) => [text('answer ' + i)]),
    asked: [0, 1, 2, 3, 4].map((i) => 'question ' + i),
    window: 4,
  },
  redaction: {
    lines: [[text('hi')], { redacts: '[taken away]', says: 'I cannot help' }, [text('sure')]],
    asked: ['hello', 'my number is 123-45-6789', 'something else'],
  },
  state: {
    lines: [[text('one')], [use('remember', 1, { key: 'city', value: 'Oslo' })], [text('kept')], [text('three')]],
    asked: [sets('n', 1), 'first', sets('n', { deep: [1, { text: 'é\n' }] }), 'remember Oslo', 'third'],
  },
  planner: { lines: [[text('plan: a, b')], [text('plan: c')]], asked: ['make a plan', 'another'], id: 'planner' },
  worker: { lines: [[use('add', 1, { a: 1, b: 2 })], [text('3')]], asked: ['work'], id: 'worker' },
}
const sessions = { agents: ['planner', 'worker'] }

function storage(store, sessionId, dir) {
  const where = store === 'unified' ? new LocalFileStorage(dir) : { snapshot: new FileStorage(dir) }
  return new SessionManager({ sessionId, storage: where, saveLatestOn: 'message', snapshotTrigger: () => true })
}

function agentOf(scenario, model, ran, sessionManager) {
  const agent = new Agent({
    model,
    tools: tools(ran),
    systemPrompt: 'You are careful.',
    sessionManager,
    printer: false,
    ...(scenario.id && { id: scenario.id }),
    ...(scenario.window && { conversationManager: new SlidingWindowConversationManager({ windowSize: scenario.window }) }),
  })
  if (scenario.gate)
    agent.addHook(BeforeToolCallEvent, (event) => {
      if (event.toolUse.name === 'delete' && event.interrupt({ name: 'approve', reason: 'really?' }) === 'no') event.cancel = 'not approved'
    })
  return agent
}

const failure = (err) => `${err.name}: ${err.message}`

async function write({ dir, store, scenario }) {
  if (orchestras[scenario]) return { written: [await writeOrchestra(dir, store, scenario)] }
  const written = []
  for (const name of sessions[scenario] ?? [scenario]) {
    const it = scenarios[name]
    const model = new Script(it.lines)
    const agent = agentOf(it, model, [], storage(store, scenario, dir))
    await agent.initialize()
    for (const asked of it.asked) {
      if (typeof asked === 'function') {
        asked(agent)
        continue
      }
      try {
        await agent.invoke(asked)
      } catch (err) {
        if (err.message !== 'the model is away') throw err
      }
    }
    if (model.lines.length) throw new Error(`${name}: ${model.lines.length} lines were not said`)
    written.push({ scenario: name, session: scenario, agent: agent.id, seen: model.seen, messages: plain(agent.messages) })
  }
  return { written }
}

async function resume({ dir, store, scenario, session, call }) {
  if (orchestras[scenario]) return resumeOrchestra(dir, store, scenario, session, call)
  const model = new Script()
  const ran = []
  const answer = { seen: model.seen, tools: ran }
  try {
    const agent = agentOf(scenarios[scenario], model, ran, storage(store, session, dir))
    await agent.initialize()
    answer.loaded = plain(agent.messages)
    answer.state = plain(agent.appState.getAll())
    if (call) answer.stop = (await called(call, { agent })).stopReason
    answer.messages = plain(agent.messages)
  } catch (err) {
    answer.error = failure(err)
  }
  return answer
}

// What a call gives that somebody would type.
function called(call, names) {
  names.invoke = (...input) => Object.values(names)[0].invoke(...input)
  const typed = call.replace(/^await /, '').replaceAll(': …', ': "yes"')
  return new Function(...Object.keys(names), `return ${typed}`)(...Object.values(names))
}

// The scenarios of Graphs and Swarms. A node says its name and what it did, and on
// another day that it did so again.
const diamond = [['research', 'analysis'], ['research', 'facts'], ['analysis', 'report'], ['facts', 'report']]
const line = [['research', 'writer'], ['writer', 'report']]
const orchestras = {
  'graph-line': { edges: line },
  'graph-diamond': { edges: diamond },
  'graph-failed': { edges: diamond, fails: 'report' },
  'graph-interrupted': { edges: line, gate: true },
  swarm: { swarm: { planner: 'coder', coder: 'tester', tester: undefined } },
  'swarm-failed': { swarm: { planner: 'coder', coder: undefined }, fails: 'coder' },
}

function orchestra(it, day, sessionManager, ran, seenBy) {
  const node = (name) => {
    let lines = [[text(`${name} on ${day}`)]]
    if (it.swarm) {
      const heir = it.swarm[name]
      lines = [[use('strands_structured_output', name, { ...(heir && { agentId: heir }), message: `${name} on ${day}` })]]
    }
    if (day === 'monday' && it.fails === name) lines = [new Error(`${name} is ill`)]
    let first = true
    const model = new Script(lines, () => {
      if (first) ran.push(name)
      first = false
      seenBy[name] = model.seen
    })
    return new Agent({ id: name, description: 'the ' + name, model, printer: false })
  }
  if (it.swarm) return new Swarm({ id: 'swarm', nodes: Object.keys(it.swarm).map(node), start: Object.keys(it.swarm)[0], sessionManager })
  const names = [...new Set(it.edges.flat())]
  const graph = new Graph({ id: 'graph', nodes: names.map(node), edges: it.edges, sessionManager })
  if (it.gate)
    graph.addHook(BeforeNodeCallEvent, (event) => {
      if (event.nodeId === 'report') event.interrupt({ name: 'approve', reason: 'really?' })
    })
  return graph
}

function told(result, ran, seenBy) {
  const results = {}
  for (const r of result.results) results[r.nodeId] = (r.content ?? []).map((block) => block.text ?? '').join('')
  return { ran, seenBy, status: result.status, order: result.results.map((r) => r.nodeId), results }
}

async function writeOrchestra(dir, store, scenario) {
  const it = orchestras[scenario]
  const [ran, seenBy] = [[], {}]
  const answer = { scenario, session: scenario, agent: it.swarm ? 'swarm' : 'graph' }
  try {
    const result = await orchestra(it, 'monday', storage(store, scenario, dir), ran, seenBy).invoke('the task')
    return { ...answer, ...told(result, ran, seenBy) }
  } catch (err) {
    return { ...answer, ran, seenBy, error: failure(err) }
  }
}

async function resumeOrchestra(dir, store, scenario, session, call) {
  const it = orchestras[scenario]
  const [ran, seenBy] = [[], {}]
  try {
    const one = orchestra(it, 'tuesday', storage(store, session, dir), ran, seenBy)
    return told(await called(call, { graph: one, swarm: one }), ran, seenBy)
  } catch (err) {
    return { ran, seenBy, error: failure(err) }
  }
}

// Whatever a library prints must not stand between the answers.
for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = () => {}
const say = (answer) => process.stdout.write(JSON.stringify(answer) + '\n')
const commands = { write, resume }
say({ sdk: '@strands-agents/sdk ' + here(path.join(process.cwd(), 'node_modules/@strands-agents/sdk/package.json')).version })
for await (const one of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(one)
  try {
    say(await commands[command.do](command))
  } catch (err) {
    say({ broken: err.stack })
  }
}
