import {
  Client,
  credentials,
  Metadata,
  type ClientDuplexStream,
  type ClientReadableStream,
  type handleBidiStreamingCall,
  type handleUnaryCall,
  type ServerDuplexStream,
  type ServiceError,
} from '@grpc/grpc-js'
import { Wake } from '@osm-ts/driver-api/toolkit'

import { toServiceError } from './failure.js'
import type { Message, Method } from './services.js'

type WatchRequest = Message<'watchRequest'>

/** Bytes of one message at most: more than the parts of the largest mesh take, less than would end a process. */
const MAX_MESSAGE_BYTES = 64 << 20

/** Settings of both ends. */
export const channelOptions = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  // A socket that is not there yet is tried again soon.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.min_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
} as const

/** A client of anyone who serves on a unix socket. Connects with the first call. */
export function connectTo(socket: string): Client {
  return new Client(`unix:${socket}`, credentials.createInsecure(), channelOptions)
}

/** How long a call may take, and what ends it before. */
export interface CallBounds {
  readonly deadlineMs: number
  readonly signal?: AbortSignal
  /** True: a socket that is not served yet is waited for. */
  readonly waitForReady?: boolean
}

/** Makes a call with one answer. Rejects with what gRPC says; anyone who knows what was asked makes an OsmError of it. */
export function callUnary<Request, Response>(
  client: Client,
  method: Method<Request, Response>,
  request: Partial<Request>,
  { deadlineMs, signal, waitForReady = false }: CallBounds,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest<Partial<Request>, Response>(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      new Metadata({ waitForReady }),
      { deadline: Date.now() + deadlineMs },
      (error: ServiceError | null, response?: Response) => {
        signal?.removeEventListener('abort', cancel)
        if (response === undefined) reject(error ?? new Error('no answer'))
        else resolve(response)
      },
    )
    const cancel = (): void => call.cancel()
    signal?.addEventListener('abort', cancel, { once: true })
    if (signal?.aborted === true) cancel()
  })
}

/** Makes a call that is answered by a stream. It has no deadline: it lasts as long as what it started. */
export function callStream<Request, Response>(
  client: Client,
  method: Method<Request, Response>,
  request: Partial<Request>,
): ClientReadableStream<Response> {
  return client.makeServerStreamRequest<Partial<Request>, Response>(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    request,
  )
}

/**
 * Follows something that the other side watches. Each item is requested when the reader wants it, so that nothing piles up and a slow reader gets the newest.
 *
 * @returns items until the signal aborts or the other side ends; throws what gRPC says
 */
export async function* pull<Item>(
  client: Client,
  method: Method<WatchRequest, Item>,
  request: Partial<WatchRequest>,
  signal: AbortSignal,
): AsyncGenerator<Item, void, undefined> {
  if (signal.aborted) return
  const call: ClientDuplexStream<Partial<WatchRequest>, Item> = client.makeBidiStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
  )
  const inbox: Inbox<Item> = {}
  const wake = new Wake()
  const over = new AbortController()
  const finish = (end: { readonly error?: Error }): void => {
    inbox.end ??= end
    wake.notify()
  }
  const cancel = (): void => {
    over.abort()
    call.cancel()
  }
  call.on('data', (item: Item) => {
    inbox.item = { value: item }
    wake.notify()
  })
  call.on('end', () => finish({}))
  call.on('error', (error) => finish({ error }))
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for (;;) {
      call.write(request)
      const item = await nextItem(inbox, wake, over.signal)
      if (item === undefined) return
      yield item.value
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    call.cancel()
  }
}

/** What has arrived. */
interface Inbox<Item> {
  item?: { readonly value: Item }
  end?: { readonly error?: Error }
}

/** What arrives next; undefined at the end, or when the signal has aborted. */
async function nextItem<Item>(inbox: Inbox<Item>, wake: Wake, signal: AbortSignal): Promise<Inbox<Item>['item']> {
  while (!signal.aborted) {
    const { item, end } = inbox
    if (item !== undefined) {
      delete inbox.item
      return item
    }
    if (end?.error !== undefined) throw end.error
    if (end !== undefined) return undefined
    await wake.wait(signal)
  }
  return undefined
}

/** Answers a call by a function. */
export function answer<Request, Response>(
  respond: (request: Request, signal: AbortSignal) => Promise<Partial<Response>>,
): handleUnaryCall<Request, Partial<Response>> {
  return (call, callback) => {
    const ended = new AbortController()
    call.on('cancelled', () => ended.abort())
    respond(call.request, ended.signal).then(
      (response) => callback(null, response),
      (error: unknown) => callback(toServiceError(error)),
    )
  }
}

/** Answers a call of {@link pull}: an item for each request. */
export function serveWatch<Value, Item>(
  open: (request: WatchRequest, signal: AbortSignal) => AsyncIterable<Value>,
  messageOf: (value: Value) => Partial<Item>,
  onEnd: (done: Promise<void>) => void,
): handleBidiStreamingCall<WatchRequest, Partial<Item>> {
  return (call) => onEnd(giveItems(call, open, messageOf))
}

async function giveItems<Value, Item>(
  call: ServerDuplexStream<WatchRequest, Partial<Item>>,
  open: (request: WatchRequest, signal: AbortSignal) => AsyncIterable<Value>,
  messageOf: (value: Value) => Partial<Item>,
): Promise<void> {
  const ended = new AbortController()
  const wake = new Wake()
  // Anyone who asks twice before there was an answer gets one: the newest.
  const asked: { request?: WatchRequest } = {}
  call.on('data', (request: WatchRequest) => {
    asked.request = request
    wake.notify()
  })
  for (const event of ['cancelled', 'end', 'error'] as const) call.on(event, () => ended.abort())
  let items: AsyncIterator<Value> | undefined
  try {
    while (await wake.wait(ended.signal)) {
      const { request } = asked
      if (request === undefined) continue
      delete asked.request
      items ??= open(request, ended.signal)[Symbol.asyncIterator]()
      const next = await items.next()
      if (next.done === true) break
      call.write(messageOf(next.value))
    }
    call.end()
  } catch (error) {
    call.emit('error', toServiceError(error))
  } finally {
    ended.abort()
    await items?.return?.()
  }
}
