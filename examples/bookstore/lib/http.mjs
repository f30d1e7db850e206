// HTTP as an application in the mesh sends it: it knows names of services, and nothing of sidecars, certificates or addresses.
import http from 'node:http'

const maxAnswerBytes = 64 * 1024

/**
 * Sends one request and gives the answer; throws when there is none.
 *
 * Where the mesh does not redirect traffic by itself, HTTP_PROXY names the sidecar: it is then asked for the whole address, as any
 * forward proxy is. Without that variable the service is dialled directly.
 *
 * @param {{ method?: string, url: string, body?: unknown, signal?: AbortSignal }} request
 * @returns {Promise<{ status: number, headers: http.IncomingHttpHeaders, text: string }>}
 */
export async function send({ method = 'GET', url, body, signal }) {
  const { host, hostname, port, pathname, search, href } = new URL(url)
  const proxy = process.env.HTTP_PROXY ?? process.env.http_proxy
  const to = proxy
    ? { host: new URL(proxy).hostname, port: new URL(proxy).port || 80, path: href }
    : { host: hostname, port: port || 80, path: pathname + search }
  return new Promise((resolve, reject) => {
    // A connection for each request: what the mesh decides then shows at once, whatever it decided before.
    const request = http.request({ ...to, method, headers: { host, ...bodyHeaders(body) }, agent: false, signal })
    request.on('error', reject)
    request.on('response', (response) => {
      readAll(response).then(
        (text) => resolve({ status: response.statusCode, headers: response.headers, text }),
        reject,
      )
    })
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** Reads a request or an answer to its end, up to a bound. */
export async function readAll(stream) {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > maxAnswerBytes) throw new Error(`more than ${maxAnswerBytes} bytes`)
  }
  return text
}

function bodyHeaders(body) {
  return body === undefined ? {} : { 'content-type': 'application/json' }
}
