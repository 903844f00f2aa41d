// Drives the real Genkit SDK for JavaScript with a model that says what it is told
// to.
//
// interop_test.go starts it, in the folder in which the packages are, and gives it
// one command a line on its standard input, as JSON; each is answered by one line.
// No network is used, and nothing here is a stand-in but the model. Commands and
// answers are those of the driver for Go, which says what is in them.

import path from 'node:path'
import readline from 'node:readline'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const here = createRequire(path.join(process.cwd(), 'here.js'))
const { genkit, FileSessionStore, z } = await import(pathToFileURL(here.resolve('genkit/beta')))

const say = (answer) => process.stdout.write(JSON.stringify(answer) + '\n')
// Whatever a library prints must not stand between the answers.
for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = () => {}

const ai = genkit({})

// What was seen since the command came. The agents share one model and its tools,
// and there is one command at a time.
let seen, ran, resumed

// The model. What it says depends on what the user said last, and on how many rounds
// of tools came after that.
ai.defineModel({ name: 'script/one', supports: { multiturn: true, tools: true, systemRole: true } }, async (request) => {
  const messages = request.messages.filter((m) => m.role !== 'system') // the prompt is the program's and not the session's
  seen.push(JSON.parse(JSON.stringify(messages)))
  const user = messages.findLastIndex((m) => m.role === 'user')
  const said = (messages[user]?.content ?? []).map((part) => part.text ?? '').join('')
  const rounds = messages.slice(user + 1).filter((m) => m.role === 'tool').length
  const says = (...content) => ({ message: { role: 'model', content }, finishReason: 'stop' })
  const calls = (name, ref, input) => ({ toolRequest: { name, ref, input } })
  if (resumed) return says({ text: 'resumed' })
  if (said === 'fail' || (said.startsWith('flaky') && rounds === 1)) throw new Error('the model is away')
  if (said.startsWith('flaky')) return says(calls('addToOrder', 'flaky-1', { drink: 'tonic' }))
  if (said.startsWith('order ') && rounds === 0)
    return says(...said.slice(6).split(', ').map((drink, i) => calls('addToOrder', `call-${i + 1}`, { drink })))
  if (said.startsWith('order ') && rounds === 1) return says(calls('priceOrder', 'call-price', {}))
  if (said.startsWith('pay') && rounds === 0) return says(calls('confirmPay', 'pay-1', { amount: 7.5 }))
  return says({ text: 'you said ' + said })
})

const add = ai.defineTool(
  { name: 'addToOrder', description: 'adds one drink', inputSchema: z.object({ drink: z.string() }), outputSchema: z.string() },
  async ({ drink }) => {
    ran.push('addToOrder')
    ai.currentSession().updateCustom((c) => ({ ...c, drinks: [...(c?.drinks ?? []), drink] }))
    return 'added ' + drink
  },
)
const price = ai.defineTool(
  { name: 'priceOrder', description: 'prices the order', inputSchema: z.object({}), outputSchema: z.any() },
  async () => {
    ran.push('priceOrder')
    const session = ai.currentSession()
    session.updateCustom((c) => ({ ...c, total: 2.5 * c.drinks.length, notes: { currency: 'EUR', html: '<b>&</b> ☕' } }))
    const { total } = session.getCustom()
    session.addArtifacts([{ name: 'receipt.txt', parts: [{ text: total.toFixed(2) }] }])
    return { total }
  },
)
const pay = ai.defineTool(
  { name: 'confirmPay', description: 'asks the human', inputSchema: z.object({ amount: z.number() }), outputSchema: z.string() },
  async ({ amount }, { interrupt, resumed }) => {
    if (!resumed) interrupt({ question: `pay ${amount.toFixed(2)}?` })
    ran.push('confirmPay')
    return `paid: ${resumed.approved}`
  },
)

let agents = 0
function open(dir) {
  const store = new FileSessionStore(dir)
  const agent = ai.defineAgent({
    name: `barista${++agents}`,
    model: 'script/one',
    system: 'You are a barista.',
    tools: [add, price, pay],
    store,
  })
  return { agent, store }
}

// One turn, and the snapshot that it left.
async function turn(agent, input, init) {
  const bidi = agent.streamBidi(init)
  bidi.send(input)
  bidi.close()
  for await (const chunk of bidi.stream) void chunk
  return bidi.output
}

const scenarios = {
  turns: [{ says: 'hello' }, { says: 'and <two> & ☕' }, { says: 'bye' }],
  order: [{ says: 'order tea, <mocha>' }, { says: 'order espresso' }, { says: 'thanks' }],
  branch: [{ says: 'hello' }, { says: 'left' }, { says: 'right', from: 1 }, { says: 'further right' }, { says: 'left again', from: 2 }],
  failed: [{ says: 'hello' }, { says: 'fail' }],
  flaky: [{ says: 'hello' }, { says: 'flaky order' }, { says: 'never mind' }],
  interrupt: [{ says: 'hello' }, { says: 'pay' }],
}

const userSays = (text) => ({ message: { role: 'user', content: [{ text }] } })

async function write({ dir, scenario }) {
  const { agent } = open(dir)
  const ids = []
  for (const { says, from } of scenarios[scenario]) {
    const out = await turn(agent, userSays(says), from ? { snapshotId: ids[from - 1] } : { sessionId: scenario })
    ids.push(out.snapshotId)
    // Rows are told apart by their times, which JavaScript gives in milliseconds.
    const now = Date.now()
    while (Date.now() === now) await new Promise((go) => setTimeout(go, 1))
  }
  return { written: [{ scenario, session: scenario, agent: 'barista', seen, snapshots: ids }] }
}

async function resume({ dir, session, call }) {
  const { agent, store } = open(dir)
  const answer = { seen, tools: ran }
  resumed = true
  try {
    const { error, sessionId, snapshotId, finishReason } = (await called(call, agent, store, session)).raw
    Object.assign(answer, { stop: finishReason, snapshot: snapshotId, session: sessionId })
    if (error) answer.error = error.message
  } catch (err) {
    answer.error = `${err.name}: ${err.message}`
  }
  return answer
}

// What a call gives that somebody would type.
async function called(call, agent, store, sessionId) {
  let answers = []
  if (call.includes('[...]')) {
    const row = await store.getSnapshot({ sessionId })
    const asked = row.state.messages.at(-1).content.filter((part) => part.metadata?.interrupt)
    answers = asked.map((part) => pay.respond(part, 'paid by hand'))
  }
  return new Function('agent', 'answers', `return ${call.replace(/^await /, '').replace('[...]', 'answers')}`)(agent, answers)
}

async function latest({ dir, session }) {
  const row = await open(dir).store.getSnapshot({ sessionId: session })
  return { snapshot: row.snapshotId, parent: row.parentId }
}

const commands = { write, resume, latest }
say({ sdk: 'genkit ' + here(path.join(process.cwd(), 'node_modules/genkit/package.json')).version })
for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  ;[seen, ran, resumed] = [[], [], false]
  try {
    say(await commands[command.do](command))
  } catch (err) {
    say({ broken: err.stack })
  }
}
process.exit(0)
