// Does exchanges with a browser: chromium-client.mjs <path of Chromium> fetch|websocket|page. Reads targets, prints what it has seen.
import { json } from 'node:stream/consumers'
import { chromium } from 'playwright-core'
import { digestOfAnswer } from './exchanges.mjs'

const [, , executablePath, flavour] = process.argv
const TIMEOUT_MS = 30_000

/** Headers as lines, as they came; HTTP/2 has none of these. */
function headersOf({ headersText, headers }) {
  if (headersText !== undefined && headersText !== '')
    return headersText
      .split('\r\n')
      .slice(1)
      .filter((line) => line !== '')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
  return Object.entries(headers).flatMap(([name, value]) => value.split('\n').map((each) => [name, each]))
}

/** Collects the answers that a page gets, as they come over the network. */
async function watch(page) {
  const session = await page.context().newCDPSession(page)
  const answers = new Map()
  const own = (id) => {
    if (!answers.has(id)) answers.set(id, {})
    return answers.get(id)
  }
  session.on('Network.requestWillBeSent', ({ requestId, request, type }) => {
    Object.assign(own(requestId), { method: request.method, type })
  })
  session.on('Network.responseReceived', ({ requestId, response }) => {
    const { status, statusText, protocol, connectionReused } = response
    const version = protocol.toUpperCase()
    Object.assign(own(requestId), { status, reason: statusText, version, reused: connectionReused })
  })
  session.on('Network.responseReceivedExtraInfo', ({ requestId, ...head }) => {
    Object.assign(own(requestId), { headers: headersOf(head), headStatus: head.statusCode })
  })
  await session.send('Network.enable')
  // A browser also requests icons.
  const asked = () => [...answers.values()].filter(({ type }) => type === 'Fetch' || type === 'Preflight')
  // The two halves of a head come one after the other, and those of a redirect before those of the answer.
  const isWhole = ({ status, headStatus }) => status !== undefined && status === headStatus
  return {
    clear: () => answers.clear(),
    answers: async () => {
      const deadline = performance.now() + TIMEOUT_MS
      while (!asked().every(isWhole) && performance.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 5))
      return asked().map(({ headStatus: _, ...answer }) => answer)
    },
  }
}

/** Runs in the page. */
async function fetchInPage({ method, path, headers = [], body, timeout }) {
  const init = { method, headers, cache: 'no-store', signal: AbortSignal.timeout(timeout) }
  if (body !== undefined) init.body = new Uint8Array(body.bytes).fill(98)
  try {
    const response = await fetch(path, init)
    const content = new Uint8Array(await response.arrayBuffer())
    let binary = ''
    for (let i = 0; i < content.length; i += 30_000) binary += String.fromCharCode(...content.subarray(i, i + 30_000))
    return { base64: btoa(binary), redirected: response.redirected }
  } catch (error) {
    return { error: error.name }
  }
}

async function byFetch(browser, { host, port, exchanges }) {
  const page = await browser.newPage()
  const network = await watch(page)
  await page.goto(`http://${host}:${port}/text`, { timeout: TIMEOUT_MS })
  const seen = {}
  for (const { name, times = 1, ...exchange } of exchanges) {
    const all = []
    for (let i = 0; i < times; i++) {
      network.clear()
      const { base64, ...rest } = await page.evaluate(fetchInPage, { ...exchange, timeout: TIMEOUT_MS })
      const answer = base64 === undefined ? {} : (await network.answers()).at(-1)
      all.push({ ...answer, ...rest, ...(base64 !== undefined && digestOfAnswer(Buffer.from(base64, 'base64'))) })
    }
    seen[name] = times === 1 ? all[0] : all
  }
  await page.close()
  return seen
}

/** Runs in the page. */
function speakInPage({ url, send, subprotocols, closes, timeout }) {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, subprotocols)
    socket.binaryType = 'arraybuffer'
    const messages = []
    let failed = false
    setTimeout(() => resolve({ error: 'timeout' }), timeout)
    const next = () => {
      const each = send[messages.length]
      if (each === undefined) return closes === 'client' ? socket.close(1000, 'done') : socket.send('bye')
      socket.send(each.binary ? new Uint8Array(each.bytes).fill(98) : 't'.repeat(each.bytes))
    }
    socket.onopen = next
    socket.onmessage = ({ data }) => {
      const isBinary = typeof data !== 'string'
      const content = isBinary ? new Uint8Array(data) : new TextEncoder().encode(data)
      messages.push({
        isBinary,
        bytes: content.length,
        isSame: content.every((byte) => byte === (isBinary ? 98 : 116)),
      })
      next()
    }
    socket.onerror = () => (failed = true)
    socket.onclose = ({ code, reason, wasClean }) =>
      resolve({ messages, failed, code, reason, wasClean, subprotocol: socket.protocol, extensions: socket.extensions })
  })
}

async function byWebSocket(browser, { host, port, exchanges }) {
  const page = await browser.newPage()
  const seen = {}
  for (const { name, path, send, closes, subprotocols = [] } of exchanges) {
    const question = { url: `ws://${host}:${port}${path}`, send, subprotocols, closes, timeout: TIMEOUT_MS }
    seen[name] = await page.evaluate(speakInPage, question)
  }
  await page.close()
  return seen
}

/** What pages do, by the name of the exchange: each runs in a page of the server, and what it returns is compared. */
const inPages = {
  form: async (page) => {
    await page.goto(new URL('/page', page.url()).href)
    await Promise.all([page.waitForURL('**/echo'), page.click('button')])
    return { text: await page.evaluate(() => document.body.innerText) }
  },
  page: async (page) => {
    await page.goto(new URL('/page', page.url()).href, { waitUntil: 'load' })
    return page.evaluate(() => ({
      title: document.title,
      images: [...document.images].filter(({ naturalWidth }) => naturalWidth === 3).length,
      color: getComputedStyle(document.body).color,
      cookie: document.cookie,
    }))
  },
  'page by address': async (page, { address }) => {
    const url = new URL('/page', page.url())
    url.hostname = address
    await page.goto(url.href, { waitUntil: 'load' })
    return page.evaluate(() => ({ title: document.title }))
  },
  cookies: (page) =>
    page.evaluate(async () => {
      await fetch('/cookies')
      return { cookie: document.cookie, text: await (await fetch('/echo')).text() }
    }),
  redirect: (page) =>
    page.evaluate(async () => ({ text: await (await fetch('/moved', { method: 'POST', body: 'moved' })).text() })),
  gzip: (page) => page.evaluate(async () => ({ content: (await (await fetch('/gzip')).text()).length })),
  'another origin, preflight': (page, { address }) =>
    page.evaluate(async (own) => {
      const url = new URL('/shared/echo', location.href)
      url.hostname = own
      const init = { method: 'PUT', credentials: 'include', headers: { 'X-Custom': 'one' }, body: 'shared' }
      const response = await fetch(url, init)
      return { exposed: response.headers.get('x-exposed'), text: await response.text() }
    }, address),
  'another origin, not allowed': (page, { address }) =>
    page.evaluate((own) => {
      const url = new URL('/echo', location.href)
      url.hostname = own
      return fetch(url).then(
        () => ({ error: 'none' }),
        (error) => ({ error: error.name }),
      )
    }, address),
  'server-sent events': (page) =>
    page.evaluate(
      () =>
        new Promise((resolve) => {
          const source = new EventSource('/events')
          const events = []
          source.onmessage = ({ data, lastEventId }) => {
            events.push([data, lastEventId])
            if (events.length < 7) return
            source.close()
            resolve({ events })
          }
        }),
    ),
  'streamed download': (page) =>
    page.evaluate(async () => {
      const reader = (await fetch('/stream')).body.getReader()
      let length = 0
      let pieces = 0
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        length += next.value.length
        pieces += 1
      }
      return { length, inPieces: pieces > 2 }
    }),
  'download aborted': (page) =>
    page.evaluate(async () => {
      const controller = new AbortController()
      const id = String(Math.random())
      const { body } = await fetch(`/stream?${id}`, { signal: controller.signal })
      await body.getReader().read()
      controller.abort()
      let aborted = 0
      while (aborted === 0) aborted = await (await fetch(`/counts?${id}`, { cache: 'no-store' })).json()
      return { isSeen: true }
    }),
  'upload with progress': (page) =>
    page.evaluate(
      () =>
        new Promise((resolve) => {
          const request = new XMLHttpRequest()
          let sent = 0
          request.upload.onprogress = ({ loaded }) => (sent = loaded)
          request.onloadend = () => resolve({ status: request.status, sent, text: request.responseText })
          request.open('POST', '/echo')
          request.send(new Blob([new Uint8Array(2_097_152).fill(98)]))
        }),
    ),
  'streamed upload': (page) =>
    page.evaluate(async () => {
      let left = 5
      const body = new ReadableStream({
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 50))
          controller.enqueue(new Uint8Array(10_000).fill(98))
          left -= 1
          if (left === 0) controller.close()
        },
      })
      const init = { method: 'POST', body, duplex: 'half', headers: { 'X-Pieces': '1' } }
      return { text: await (await fetch('/echo', init)).text() }
    }),
  'form with a file': (page) =>
    page.evaluate(async () => {
      const form = new FormData()
      form.append('name', 'Grüße')
      form.append('file', new Blob(['f'.repeat(100_000)]), 'file "1".txt')
      return { parts: await (await fetch('/parts', { method: 'POST', body: form })).json() }
    }),
  beacon: (page) =>
    page.evaluate(async () => {
      const id = String(Math.random())
      navigator.sendBeacon(`/beacon?${id}`, 'seen')
      let seen = 0
      while (seen === 0) seen = await (await fetch(`/counts?${id}`, { cache: 'no-store' })).json()
      return { isSeen: true }
    }),
  'kept in the cache': (page) =>
    page.evaluate(async () => {
      const id = String(Math.random())
      const contents = []
      for (const cache of ['default', 'default', 'no-cache'])
        contents.push(await (await fetch(`/cached?${id}`, { cache })).text())
      const countOf = async (what) => (await fetch(`/counts?${what}-${id}`)).json()
      return { contents, sent: await countOf('sent'), revalidated: await countOf('revalidated') }
    }),
  '50 at once': (page) =>
    page.evaluate(async () => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          const { seen } = await (await fetch(`/echo?n=${i}`)).json()
          return seen.url
        }),
      )
      return { urls: answers }
    }),
  WebSocket: (page) =>
    page.evaluate(
      () =>
        new Promise((resolve) => {
          const socket = new WebSocket(`ws://${location.host}/`)
          const messages = []
          socket.onmessage = ({ data }) => {
            messages.push(data)
            if (messages.length === 1) socket.send('t'.repeat(70_000))
            else socket.close()
          }
          socket.onclose = ({ code, wasClean }) => resolve({ code, wasClean, extensions: socket.extensions, messages })
        }),
    ),
}

/** Of these exchanges, the answers themselves are compared too; of others chance decides which connection and which order they have. */
const compared = ['cookies', 'gzip', 'another origin, preflight']

async function byPage(browser, { host, address, port, exchanges, scheme = 'http' }) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  const network = await watch(page)
  const seen = {}
  for (const { name } of exchanges) {
    await context.clearCookies()
    await page.goto(`${scheme}://${host}:${port}/`)
    network.clear()
    const late = new Promise((resolve) => setTimeout(() => resolve({ error: 'timeout' }), TIMEOUT_MS).unref())
    const failed = ({ message }) => ({ error: message.split('\n')[0] })
    const value = await Promise.race([inPages[name](page, { address }).catch(failed), late])
    const answers = compared.includes(name) ? await network.answers() : []
    seen[name] = [value, ...answers.map(({ reused: _, ...rest }) => rest)]
  }
  await context.close()
  return seen
}

const flavours = {
  fetch: byFetch,
  websocket: byWebSocket,
  page: byPage,
  'page over TLS': (browser, target) => byPage(browser, { ...target, scheme: 'https' }),
}

const { targets } = await json(process.stdin)
// The browser starts as root, and asks no resolver but that of the system.
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-features=AsyncDns'] })
try {
  const seen = {}
  for (const target of targets) seen[target.server] = await flavours[flavour](browser, target)
  console.log(JSON.stringify(seen))
} finally {
  await browser.close()
}
