// Sends POSTs over HTTP/2, one after the other, as its argument says in JSON. Prints each answer, its status and its text, with the number of times that it came.
import { connect } from 'node:http2'

const { url, count, contentType, size } = JSON.parse(process.argv[2])
const { origin, pathname } = new URL(url)
const session = connect(origin)
const fail = (error) => {
  process.stdout.write(String(error))
  process.exit()
}
session.on('error', fail)
setTimeout(() => fail('no answer'), 60_000)
const answers = /** @type {Map<string, number>} */ (new Map())
for (let sent = 0; sent < count; sent += 1) {
  const answer = await new Promise((resolve) => {
    const stream = session.request({ ':method': 'POST', ':path': pathname, 'content-type': contentType })
    let text = ''
    stream.on('error', (error) => resolve(String(error)))
    stream.on('response', (headers) => (text = `${headers[':status']} `))
    stream.setEncoding('utf8')
    stream.on('data', (data) => (text += String(data)))
    stream.on('close', () => resolve(text))
    stream.end('x'.repeat(size))
  })
  answers.set(answer, (answers.get(answer) ?? 0) + 1)
}
process.stdout.write(JSON.stringify(Object.fromEntries(answers)))
process.exit()
