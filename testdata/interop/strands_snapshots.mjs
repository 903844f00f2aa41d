// Asks the real Strands SDK for TypeScript what it makes of snapshot-hazards.txtar.
//
//   npm install @strands-agents/sdk@1.19.0 zod
//   node testdata/interop/strands_snapshots.mjs testdata/strands
//
// from a folder in which the packages are. Writes
// testdata/strands/snapshots-typescript-<version>.json, for each session whose name
// begins with "ts": "refuses", the error with which an agent does not start on it,
// or "messages", how many it has then, and "prompt", the error that comes of asking
// it something; and "legacy", what is different with legacy storage, which is all that
// versions before 1.10 have. Run it by
// hand, for a new SDK. Nothing here is a stand-in but the model, which answers
// every request in the same way.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const here = createRequire(path.join(process.cwd(), 'x.js'))
const load = async (name) => import(pathToFileURL(here.resolve(name)))
const { Agent, Model, SessionManager, FileStorage, tool } = await load('@strands-agents/sdk')
const { LocalFileStorage } = await load('@strands-agents/sdk/storage').catch(() => ({})) // since 1.10
const { z } = await load('zod')

class PatientModel extends Model {
  updateConfig() {}
  getConfig() {
    return { modelId: 'patient' }
  }
  async *stream() {
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield { type: 'modelContentBlockStartEvent' }
    yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: 'ok' } }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' }
  }
}

const add = tool({
  name: 'add',
  description: 'Adds.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  callback: ({ a, b }) => a + b,
})

// The sessions of the archive, each as the contents of its files.
function sessions(archive) {
  const found = {}
  let lines = null
  for (const line of archive.toString('latin1').split(/(?<=\n)/)) {
    const header = /^-- ([^/]+)\/(.*) --\n$/.exec(line)
    if (header) {
      found[header[1]] ??= {}
      lines = found[header[1]][header[2]] = []
    } else lines?.push(line)
  }
  for (const files of Object.values(found))
    for (const name of Object.keys(files)) files[name] = Buffer.from(files[name].join(''), 'latin1')
  return found
}

function layOut(files, folder) {
  for (const [name, content] of Object.entries(files)) {
    if (name === 'why' || content.toString() === '(absent)\n') continue
    const file = path.join(folder, name === 'latest' ? 'snapshot_latest.json' : name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    if (content.subarray(0, 3).toString() === '-> ') fs.symlinkSync(content.toString().slice(3, -1), file)
    else fs.writeFileSync(file, content)
  }
}

const words = (error) => `${error.name}: ${error.message}`.replaceAll('\n', ' ').replace(root, '').slice(0, 160)

async function ask(session, storage) {
  const sessionManager = new SessionManager({ sessionId: session, storage, saveLatestOn: 'trigger' })
  const agent = new Agent({ model: new PatientModel(), tools: [add], sessionManager, printer: false })
  try {
    await agent.initialize()
  } catch (error) {
    return { refuses: words(error) }
  }
  const answer = { messages: agent.messages.length }
  try {
    await agent.invoke('go on')
  } catch (error) {
    answer.prompt = words(error)
  }
  return answer
}

const folder = process.argv[2]
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'snapshots-'))
const answers = {}
for (const [name, files] of Object.entries(sessions(fs.readFileSync(path.join(folder, 'snapshot-hazards.txtar'))))) {
  if (!name.startsWith('ts-')) continue
  for (const kind of ['session', 'legacy']) layOut(files, path.join(root, kind, name, 'scopes', 'agent', 'agent', 'snapshots'))
  const legacy = await ask(name, { snapshot: new FileStorage(path.join(root, 'legacy')) })
  answers[name] = LocalFileStorage ? await ask(name, new LocalFileStorage(root)) : legacy
  if (Boolean(legacy.refuses) !== Boolean(answers[name].refuses)) answers[name].legacy = legacy
}
fs.rmSync(root, { recursive: true })
const sdk = JSON.parse(fs.readFileSync(path.join(path.dirname(here.resolve('@strands-agents/sdk')), '../../package.json'))).version
const sorted = Object.fromEntries(Object.entries(answers).sort(([a], [b]) => (a < b ? -1 : 1)))
fs.writeFileSync(path.join(folder, `snapshots-typescript-${sdk}.json`), JSON.stringify({ sdk, answers: sorted }, null, 1) + '\n')
