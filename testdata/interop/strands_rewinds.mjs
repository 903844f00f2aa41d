// Asks the real Strands SDK for TypeScript what it runs of Graphs and Swarms that
// were put back.
//
//   npm install @strands-agents/sdk@1.19.0 zod      (Node 22)
//   node strands_rewinds.mjs testdata/strands/rewinds write
//   go test ./store/kinds/strands/runs -run Rewind -update
//   node strands_rewinds.mjs testdata/strands/rewinds ask
//
// The tests of store/kinds/strands/runs read what it writes. Run it by hand, for
// a new SDK, in a folder that has the packages. Nothing here is a stand-in but the
// model, which says what it is told to.
//
// "write" runs some Graphs and Swarms and keeps every version of the snapshot of
// each, as typescript-runs.json. "ask" takes each snapshot that Hindcast put back
// (typescript-rewound.json), starts an orchestrator on it and gives it a prompt;
// typescript-1.19.0.json has the nodes that ran, what they were given, how it
// ended and what is stored then.

import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { Agent, Graph, Model, SessionManager, Swarm } from '@strands-agents/sdk'
import { BeforeNodeCallEvent } from '@strands-agents/sdk/multiagent'
import { InMemoryStorage } from '@strands-agents/sdk/storage'

const out = process.argv[2]
const at = (name) => path.join(out, name)

class Script extends Model {
  constructor(lines, heard) {
    super()
    Object.assign(this, { lines, heard, at: 0, config: { modelId: 'script' } })
  }
  updateConfig(config) {
    Object.assign(this.config, config)
  }
  getConfig() {
    return this.config
  }
  async *stream(messages) {
    const line = this.lines[Math.min(this.at++, this.lines.length - 1)]
    this.heard?.(messages)
    if (line instanceof Error) throw line
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    if (typeof line === 'string') {
      yield { type: 'modelContentBlockStartEvent' }
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: line } }
    } else {
      const [name, input] = line
      yield { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name, toolUseId: `${name}-${this.at}` } }
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'toolUseInputDelta', input: JSON.stringify(input) } }
    }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: typeof line === 'string' ? 'endTurn' : 'toolUse' }
  }
}

// Keeper is a storage that keeps every version of a snapshot.
class Keeper extends InMemoryStorage {
  versions = []
  async write(key, data) {
    await super.write(key, data)
    const text = Buffer.from(data).toString()
    const last = this.versions.at(-1)
    if (!key.endsWith('snapshot_latest.json') || (last && JSON.stringify(JSON.parse(text).data) === JSON.stringify(last.data))) return
    this.versions.push(JSON.parse(text))
  }
}

const edges = {
  linear: [['a', 'b'], ['b', 'd'], ['d', 'e']],
  diamond: [['research', 'analysis'], ['research', 'factcheck'], ['analysis', 'report'], ['factcheck', 'report']],
  conditional: [
    ['start', 'good'],
    { source: 'start', target: 'bad', handler: () => false },
    ['good', 'end'],
  ],
  two_entries: [['a', 'd'], ['c', 'd'], ['d', 'e']],
  sides: [['a', 'b'], ['a', 'c'], ['b', 'd'], ['c', 'e']],
  uneven: [['a', 'd'], ['a', 'b'], ['b', 'd']],
  cycle: [{ source: 'w', target: 'c' }, { source: 'c', target: 'w', handler: (state) => state.results.length < 3 }],
}
const sources = { cycle: ['w'] }
const nodesOf = (name) => [...new Set(edges[name].flatMap((e) => (Array.isArray(e) ? e : [e.source, e.target])))]
const kindOf = (name) => Object.keys(edges).sort((a, b) => b.length - a.length).find((kind) => name.startsWith(kind))

function agent(id, lines, ran, heard) {
  const listen = (messages) => {
    if (!ran || messages.length !== 1) return
    ran.push(id)
    heard[id] = messages[0].content.map((block) => block.text ?? '').join('\n')
  }
  return new Agent({ id, description: id, printer: false, model: new Script(lines, listen) })
}
const sessions = (storage) => new SessionManager({ sessionId: 'h', storage })
function graph(name, storage, word, scripts = {}, ran, heard, rest) {
  const nodes = nodesOf(name).map((id) => agent(id, scripts[id] ?? [`${id} ${word}`], ran, heard))
  return new Graph({ id: 'g1', nodes, edges: edges[name], maxConcurrency: 1, ...(sources[name] && { sources: sources[name] }), sessionManager: sessions(storage), ...rest })
}
const hand = (agentId, message, context) => ['strands_structured_output', { ...(agentId && { agentId }), message, ...(context && { context }) }]
const swarm = (storage, scripts, ran, heard) =>
  new Swarm({ id: 's1', nodes: Object.entries(scripts).map(([id, lines]) => agent(id, lines, ran, heard)), sessionManager: sessions(storage) })
const team = () => ({
  researcher: [hand('coder', 'please code it', { facts: ['a', 'b'] })],
  coder: [hand('reviewer', 'please review'), hand(undefined, 'code v2')],
  reviewer: [hand('coder', 'fix the loop')],
})
const gate = (orchestrator, node) => {
  orchestrator.addHook(BeforeNodeCallEvent, (event) => {
    if (event.nodeId === node && event.interrupt({ name: 'approve-' + node }) !== 'ok') event.cancel = 'denied'
  })
  return orchestrator
}
const answers = (result) => result.interrupts.map((i) => ({ interruptResponse: { interruptId: i.id, response: 'ok' } }))

async function write() {
  const runs = {}
  const run = async (name, make, again) => {
    const storage = new Keeper()
    const made = make(storage)
    const result = await made.invoke('Investigate X').catch((error) => error)
    await again?.(storage, made, result)
    runs[name] = storage.versions
  }
  for (const name of Object.keys(edges)) await run(name, (s) => graph(name, s, 'output'))
  await run('diamond_parallel', (s) => graph('diamond', s, 'output', {}, undefined, undefined, { maxConcurrency: 4 }))
  await run('diamond_failed', (s) => graph('diamond', s, 'output', { report: [new Error('model exploded')] }))
  await run('diamond_resumed', (s) => graph('diamond', s, 'output', { report: [new Error('model exploded')] }),
    (s) => graph('diamond', s, 'output').invoke('Investigate X'))
  await run('diamond_asks', (s) => gate(graph('diamond', s, 'output'), 'report'))
  await run('diamond_answered', (s) => gate(graph('diamond', s, 'output'), 'report'), (s, made, result) => made.invoke(answers(result)))
  await run('diamond_twice', (s) => graph('diamond', s, 'output'), (s) => graph('diamond', s, 'output').invoke('Investigate Y'))
  await run('swarm_back', (s) => swarm(s, team()))
  await run('swarm_failed', (s) => swarm(s, { ...team(), coder: [new Error('coder model exploded')] }))
  await run('swarm_asks', (s) => gate(swarm(s, { ...team(), coder: [hand(undefined, 'code')] }), 'coder'))
  const rows = Object.entries(runs).map(([name, versions]) => ` ${JSON.stringify(name)}: ${JSON.stringify(versions)}`)
  fs.writeFileSync(at('typescript-runs.json'), '{\n' + rows.join(',\n') + '\n}\n')
}

async function ask() {
  const rows = []
  for (const [name, rewound] of Object.entries(JSON.parse(fs.readFileSync(at('typescript-rewound.json'))))) {
    const storage = new InMemoryStorage()
    const inSwarm = name.startsWith('swarm')
    const key = `session/h/scopes/multiAgent/${inSwarm ? 's1' : 'g1'}/snapshots/snapshot_latest.json`
    await storage.write(key, Buffer.from(rewound.record))
    const [ran, heard] = [[], {}]
    const again = Object.fromEntries(['researcher', 'coder', 'reviewer'].map((id) => [id, [hand(undefined, id + ' again')]]))
    const made = inSwarm ? swarm(storage, again, ran, heard) : graph(kindOf(name), storage, 'again', {}, ran, heard)
    const result = await made.invoke('another prompt')
    const stored = JSON.parse(Buffer.from(await storage.read(key)).toString()).data.state
    const said = Object.fromEntries(stored.results.map((r) => [r.nodeId, r.structuredOutput?.message ?? r.content.map((b) => b.text ?? '').join('')]))
    const sha256 = crypto.createHash('sha256').update(rewound.record).digest('hex')
    rows.push(` ${JSON.stringify(name)}: ${JSON.stringify({ sha256, ran: [ran], status: [result.status], order: stored.results.map((r) => r.nodeId), said, heard })}`)
  }
  fs.writeFileSync(at('typescript-1.19.0.json'), '{\n' + rows.join(',\n') + '\n}\n')
}

await { write, ask }[process.argv[3]]()
