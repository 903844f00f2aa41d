// Asks the real Strands SDK for TypeScript what it writes and loads of Graphs
// and Swarms.
//
//     npm install @strands-agents/sdk@1.19.0 zod        (Node 22)
//     cp testdata/interop/strands_multiagent.mjs .
//     node strands_multiagent.mjs testdata/strands life
//     node strands_multiagent.mjs testdata/strands verdicts
//
// The tests of store/kinds/strands/runs read what it writes. Run it by hand, for
// a new SDK. Nothing here is a stand-in but the model, which says what it is
// told to.
//
// "life" runs some Graphs and Swarms and keeps every version of
// snapshot_latest.json, as typescript-multiagent-life/RUN/NN.json.
//
// "verdicts" takes each record of multiagent-hazards.json (a version of a life,
// its data changed at some places), starts an orchestrator on it and gives it a
// prompt. multiagent-typescript-1.19.0.json has what came of that: "ran", the
// nodes that ran, and "status", the end, or "refused", the error. Where an
// interrupt waits, "answer" has the same for an answer to it.

import fs from 'node:fs'
import path from 'node:path'
import { Agent, Graph, Model, SessionManager, Swarm } from '@strands-agents/sdk'
import { BeforeNodeCallEvent } from '@strands-agents/sdk/multiagent'
import { InMemoryStorage } from '@strands-agents/sdk/storage'

const out = process.argv[2]

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
  async *stream() {
    const line = this.lines[Math.min(this.at++, this.lines.length - 1)]
    this.heard?.()
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
    yield { type: 'modelMetadataEvent', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, metrics: { latencyMs: 20 } }
  }
}

// Keeper is a storage that keeps every version of a snapshot.
class Keeper extends InMemoryStorage {
  constructor(run) {
    super()
    this.folder = path.join(out, 'typescript-multiagent-life', run)
    this.last = ''
  }
  async write(key, data) {
    await super.write(key, data)
    const text = Buffer.from(data).toString()
    if (!key.endsWith('snapshot_latest.json') || JSON.stringify(JSON.parse(text).data) === this.last) return
    this.last = JSON.stringify(JSON.parse(text).data)
    fs.mkdirSync(this.folder, { recursive: true })
    fs.writeFileSync(path.join(this.folder, String(fs.readdirSync(this.folder).length).padStart(2, '0') + '.json'), text)
  }
}

const agent = (id, lines, ran) => new Agent({ id, description: id, printer: false, model: new Script(lines, () => ran?.push(id)) })
const sessions = (storage) => new SessionManager({ sessionId: 'h', storage })
const diamond = [['research', 'analysis'], ['research', 'factcheck'], ['analysis', 'report'], ['factcheck', 'report']]
const four = ['research', 'analysis', 'factcheck', 'report']
const graph = (storage, scripts, edges, ran, rest) =>
  new Graph({ id: 'g1', nodes: Object.entries(scripts).map(([id, lines]) => (Array.isArray(lines) ? agent(id, lines, ran) : lines)), edges, maxConcurrency: 1, sessionManager: sessions(storage), ...rest })
const outputs = (...ids) => Object.fromEntries(ids.map((id) => [id, [`${id} output`]]))
const hand = (agentId, message, context) => ['strands_structured_output', { ...(agentId && { agentId }), message, ...(context && { context }) }]
const swarm = (storage, scripts, ran) =>
  new Swarm({ id: 's1', nodes: Object.entries(scripts).map(([id, lines]) => agent(id, lines, ran)), sessionManager: sessions(storage) })
const team = () => ({
  researcher: [hand('coder', 'please code it', { facts: ['a', 'b'] })],
  coder: [hand('reviewer', 'please review'), hand(undefined, 'code v2')],
  reviewer: [hand('coder', 'fix the loop')],
})
const gate = (orchestrator, node) =>
  orchestrator.addHook(BeforeNodeCallEvent, (event) => {
    if (event.nodeId === node && event.interrupt({ name: 'approve-' + node, reason: { why: 'need ok' } }) !== 'ok') event.cancel = 'denied'
  })
const answers = (result) => result.interrupts.map((i) => ({ interruptResponse: { interruptId: i.id, response: 'ok' } }))

async function life() {
  fs.rmSync(path.join(out, 'typescript-multiagent-life'), { recursive: true, force: true })
  let storage = new Keeper('graph_done')
  await graph(storage, outputs(...four), diamond).invoke('Investigate X')
  await graph(storage, outputs(...four), diamond).invoke('Investigate Y')
  await graph(new Keeper('graph_parallel'), outputs(...four), diamond, undefined, { maxConcurrency: 4 }).invoke('Investigate X')
  storage = new Keeper('graph_failed')
  await graph(storage, { ...outputs(...four), report: [new Error('model exploded')] }, diamond).invoke('Investigate X')
  await graph(storage, outputs(...four), diamond).invoke('Investigate X')
  let asking = graph(new Keeper('graph_asks'), outputs(...four), diamond)
  gate(asking, 'report')
  await asking.invoke(answers(await asking.invoke('Investigate X')))
  const denied = graph(new Keeper('graph_denied'), outputs(...four), diamond)
  denied.addHook(BeforeNodeCallEvent, (event) => void (event.cancel = event.nodeId === 'factcheck' && 'denied'))
  await denied.invoke('Investigate X')
  await swarm(new Keeper('swarm_back_and_forth'), team()).invoke('Build X')
  await swarm(new Keeper('swarm_failed'), { ...team(), coder: [new Error('coder model exploded')] }).invoke('Build X')
  asking = swarm(new Keeper('swarm_asks'), { ...team(), coder: [hand(undefined, 'code')] })
  gate(asking, 'coder')
  await asking.invoke(answers(await asking.invoke('Build X')))
}

// changed gives the data of a snapshot with the changes of a hazard.
function changed(data, hazard) {
  const locate = (place) => {
    const keys = place.split('/').slice(1)
    const last = keys.pop()
    return [keys.reduce((at, key) => at[key], data), last]
  }
  for (const place of hazard.delete ?? []) {
    const [holder, key] = locate(place)
    delete holder[key]
  }
  for (const [place, value] of Object.entries(hazard.set ?? {})) {
    const [holder, key] = locate(place)
    holder[key] = value
  }
  return data
}

const latest = (version) => JSON.parse(fs.readFileSync(path.join(out, 'typescript-multiagent-life', version + '.json')))

// one starts an orchestrator on a snapshot and gives it a prompt.
async function one(base, snapshot, prompt) {
  const storage = new InMemoryStorage()
  const id = base.startsWith('swarm') ? 's1' : 'g1'
  await storage.write(`session/h/scopes/multiAgent/${id}/snapshots/snapshot_latest.json`, Buffer.from(JSON.stringify(snapshot)))
  const ran = []
  const again = Object.fromEntries(four.map((node) => [node, [node + ' again']]))
  const members = { researcher: [hand(undefined, 'r')], coder: [hand(undefined, 'c')], reviewer: [hand(undefined, 'v')] }
  const made = id === 's1' ? swarm(storage, members, ran) : graph(storage, again, diamond, ran)
  try {
    const result = await made.invoke(prompt)
    return { ran, status: result.status, results: result.results.map((r) => r.nodeId + ' ' + r.status) }
  } catch (error) {
    return { ran, refused: `${error.name}: ${error.message}`.slice(0, 160) }
  }
}

async function verdict(hazard) {
  const snapshot = latest(hazard.base)
  changed(snapshot.data, hazard)
  const found = await one(hazard.base, snapshot, 'another prompt')
  const asked = Object.values(snapshot.data.state?.nodes ?? {}).flatMap((node) => node?.interrupts ?? [])
  if (asked.length > 0) found.answer = await one(hazard.base, snapshot, answers({ interrupts: asked }))
  return found
}

if (process.argv[3] === 'life') await life()
else {
  const rows = []
  for (const hazard of JSON.parse(fs.readFileSync(path.join(out, 'multiagent-hazards.json'))).typescript)
    rows.push(` ${JSON.stringify(hazard.name)}: ${JSON.stringify(await verdict(hazard))}`)
  fs.writeFileSync(path.join(out, 'multiagent-typescript-1.19.0.json'), '{\n' + rows.join(',\n') + '\n}\n')
}
