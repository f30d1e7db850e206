// Answers requests on PORT as they come, whatever their method: with their heads and bodies, or as the path asks.
import { createServer } from 'node:net'

const { PORT = '8080' } = process.env
const END = '\r\n\r\n'
const ok = (body) => `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}${END}${body}`

createServer((socket) => {
  let received = ''
  let isUpgraded = false
  let hasContinued = false
  socket.on('error', () => undefined)
  socket.on('data', (data) => {
    if (isUpgraded) {
      socket.write(data)
      return
    }
    received += data.toString('latin1')
    const end = received.indexOf(END)
    if (end === -1) return
    const head = received.slice(0, end)
    const field = (name) => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]
    const [, target = ''] = head.split(' ')
    const upgrade = field('upgrade')
    if (target === '/refuse') {
      socket.end(`HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0${END}`)
      return
    }
    if (target === '/early') {
      received = ''
      socket.write(ok('before the body'))
      return
    }
    if (field('expect') !== undefined && !hasContinued) {
      hasContinued = true
      socket.write(`HTTP/1.1 100 Continue${END}`)
    }
    const bytes = Number(field('content-length') ?? 0)
    if (received.length < end + END.length + bytes) return
    const body = received.slice(end + END.length, end + END.length + bytes)
    received = received.slice(end + END.length + bytes)
    hasContinued = false
    if (target === '/switch' && upgrade !== undefined) {
      isUpgraded = true
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}${END}`)
      return
    }
    if (target === '/hints') socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload${END}`)
    if (target === '/progress')
      for (const step of [1, 2]) socket.write(`HTTP/1.1 102 Processing\r\nStep: ${step}${END}`)
    // Without a word that the connection ends.
    if (target === '/once') socket.end(ok('once'))
    else socket.write(ok(`${head}\r\n\r\n${body}`))
  })
}).listen(Number(PORT))
