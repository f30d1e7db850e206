import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'

/** A server of DNS whose answers are those of a test. */
export interface DnsServer {
  readonly address: string
  /** Names that it was asked for. */
  readonly asked: readonly string[]
  readonly stop: () => void
}

/**
 * Starts a server on the loopback.
 *
 * @param answers - answers to a question, in the order in which they are sent; a list with none says nothing
 */
export async function startDnsServer(
  answers: (question: Buffer, name: string) => readonly Buffer[],
): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (question: Buffer, from: RemoteInfo) => {
    const name = nameIn(question)
    asked.push(name)
    for (const answer of answers(question, name)) socket.send(answer, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, asked, stop: () => socket.close() }
}

/** The question as an answer with a code, and an address if there is one. */
export function dnsAnswer(question: Buffer, code: number, address: readonly number[] = []): Buffer {
  const answer = Buffer.from(question.subarray(0, endOf(question)))
  answer[2] = 0x81
  answer[3] = 0x80 | code
  answer.writeUInt16BE(address.length === 0 ? 0 : 1, 6)
  // No options: what was asked with them is left out.
  answer.writeUInt16BE(0, 10)
  if (address.length === 0) return answer
  return Buffer.concat([answer, Buffer.from([192, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, ...address])])
}

/** Asks a question and gives the code of the answer; undefined where none came in time. */
export async function askOnce(server: string, name: string, timeoutMs: number): Promise<number | undefined> {
  const [host = '', port] = server.split(':')
  const socket = createSocket('udp4')
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)])
  try {
    socket.send(Buffer.from([1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]), Number(port), host)
    const signal = AbortSignal.timeout(timeoutMs)
    const [answer] = (await once(socket, 'message', { signal })) as [Buffer]
    return (answer[3] ?? 0) % 16
  } catch (error) {
    if ((error as Error).name === 'AbortError') return undefined
    throw error
  } finally {
    socket.close()
  }
}

function nameIn(question: Buffer): string {
  const labels: string[] = []
  for (let at = 12; (question[at] ?? 0) > 0; at += (question[at] ?? 0) + 1)
    labels.push(question.toString('latin1', at + 1, at + 1 + (question[at] ?? 0)))
  return labels.join('.')
}

function endOf(question: Buffer): number {
  let at = 12
  while ((question[at] ?? 0) > 0) at += (question[at] ?? 0) + 1
  return at + 5
}
