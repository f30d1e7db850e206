// Writes the first of the texts of its argument to a server, each further one upon an answer, and prints all that it heard once that has `until`.
import { connect } from 'node:net'

const { host, port, say, until } = JSON.parse(process.argv[2])
const SILENCE_MS = 10_000
const texts = say.map((text) => Buffer.from(text, 'latin1'))
const chunks = []
const heard = () => Buffer.concat(chunks).toString('latin1')
const finish = () => {
  process.stdout.write(heard())
  process.exit()
}
setTimeout(finish, SILENCE_MS)
const socket = connect(port, host)
socket.on('connect', () => socket.write(texts.shift()))
socket.on('data', (data) => {
  chunks.push(data)
  if (heard().includes(until)) finish()
  const next = texts.shift()
  if (next !== undefined) socket.write(next)
})
socket.on('error', finish)
socket.on('close', finish)
