import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

import type { KubernetesApi, KubernetesManifest, KubernetesObject, ObjectName, ResourceType } from '../src/api.js'
import { openKubernetes } from '../src/connect.js'
import { apiVersionOf, resourceTypes } from '../src/resource-types.js'
import { applyFields, mergePatched } from './fake-apply.js'
import { FakeFaults, type Fault, type SeenRequest } from './fake-faults.js'
import { befall, inForm, readJson, send, statusObject, targetOf, tooOld, type Target } from './fake-http.js'
import { FakeFailure, FakeObjects, tableOf } from './fake-objects.js'
import { fieldPredicate, labelPredicate, type Predicate } from './fake-selectors.js'
import { FakeWatches } from './fake-watches.js'

/** Body of a DELETE, as far as it is heeded. */
interface FakeDeleteOptions {
  readonly preconditions?: { readonly uid?: string }
  readonly dryRun?: readonly string[]
}

/**
 * An API server in this process, over real sockets, with faults at will.
 *
 * It lists by pages, watches with bookmarks, keeps resource versions and field owners, and knows nothing of schemas,
 * admission or roles: those are tested on the real one.
 */
export class FakeApiServer {
  readonly objects = new FakeObjects()
  readonly watches = new FakeWatches(this.objects)
  readonly requests: SeenRequest[] = []
  /** Bearer token that is requested; undefined: none. */
  token: string | undefined
  /** Has a request before anything else looks at it, and says whether it answers it. */
  takeFirst: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  /** Answers of paths outside of the objects, such as `/version`. */
  readonly documents = new Map<string, unknown>([['/version', { major: '1', minor: '34', gitVersion: 'v1.34.4' }]])
  readonly #faults = new FakeFaults()
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #snapshots = new Map<string, readonly KubernetesObject[]>()
  readonly #types: readonly ResourceType[]
  #frozen: (() => void)[] | undefined

  private constructor(types: readonly ResourceType[]) {
    this.#types = types
    this.#server = createServer((request, response) => {
      if (this.takeFirst?.(request, response) !== true) void this.#serve(request, response)
    })
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  /** @param types - kinds that are served beside those of `resourceTypes` */
  static async start(types: readonly ResourceType[] = []): Promise<FakeApiServer> {
    const server = new FakeApiServer([...Object.values(resourceTypes), ...types])
    await server.listen(0)
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** A connection to it. */
  async api(token?: () => string): Promise<KubernetesApi> {
    const server = this.url
    const headers = (): Record<string, string> => (token === undefined ? {} : { authorization: `Bearer ${token()}` })
    return openKubernetes({ server, credentials: async () => ({ headers: headers(), tls: {} }) }, 'osm-test')
  }

  /** Makes or replaces an object behind the back of the clients. */
  put(
    type: ResourceType,
    metadata: KubernetesManifest['metadata'],
    rest: Readonly<Record<string, unknown>> = {},
  ): KubernetesObject {
    return this.objects.put(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...rest })
  }

  remove(type: ResourceType, name: ObjectName): void {
    this.objects.remove(type, name)
  }

  /** Has a fault happen to the next request that it fits. */
  fault(fault: Fault): void {
    this.#faults.add(fault)
  }

  clearFaults(): void {
    this.#faults.clear()
  }

  /** From now on nothing is answered, and connections stay open: what a partition looks like from this side. */
  freeze(): void {
    this.#frozen = []
    this.watches.freeze()
  }

  /** Answers what has waited. */
  thaw(): void {
    const waiting = this.#frozen ?? []
    this.#frozen = undefined
    this.watches.thaw()
    for (const goOn of waiting) goOn()
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
  }

  /** Stops to listen and cuts every connection. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.cut()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? '/', this.url)
      const seen: SeenRequest = {
        method: request.method ?? 'GET',
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        userAgent: request.headers['user-agent'] ?? '',
        accept: request.headers.accept ?? '',
      }
      this.requests.push(seen)
      const body = await readJson(request)
      const fault = this.#faults.take(seen)
      if (fault !== undefined && (await befall(fault, response))) return
      if (this.#frozen !== undefined) await new Promise<void>((resolve) => this.#frozen?.push(resolve))
      if (this.token !== undefined && request.headers.authorization !== `Bearer ${this.token}`) {
        throw new FakeFailure(401, 'Unauthorized', 'Unauthorized')
      }
      this.#answer(seen, url.searchParams, body, response)
    } catch (error) {
      if (!(error instanceof FakeFailure)) throw error
      send(response, error.status, statusObject(error.status, error.reason, error.message))
    }
  }

  #answer(seen: SeenRequest, query: URLSearchParams, body: unknown, response: ServerResponse): void {
    const target = this.documents.has(seen.path) ? undefined : targetOf(seen.path, this.#types)
    if (target === undefined) {
      const document = this.documents.get(seen.path)
      if (document === undefined)
        throw new FakeFailure(404, 'NotFound', 'the server could not find the requested resource')
      send(response, 200, document)
    } else if (seen.method === 'GET' && target.name === undefined) {
      this.#select(target, query, seen.accept, response)
    } else {
      const answer = this.#single(seen.method, target, query, body)
      send(response, seen.method === 'POST' ? 201 : 200, inForm(seen.accept, answer))
    }
  }

  #select(target: Target, query: URLSearchParams, accept: string, response: ServerResponse): void {
    const { type, namespace } = target
    const labels = labelPredicate(query.get('labelSelector'))
    const fields = fieldPredicate(query.get('fieldSelector'))
    const matches: Predicate = (object) =>
      (namespace === undefined || object.metadata.namespace === namespace) && labels(object) && fields(object)
    if (query.get('watch') === 'true') {
      const from = Number(query.get('resourceVersion'))
      if (from < this.objects.compacted) throw tooOld()
      const timeoutSeconds = Number(query.get('timeoutSeconds') ?? 600)
      const kind = { apiVersion: apiVersionOf(type), kind: type.kind }
      this.watches.open({ table: tableOf(type), matches, response, kind, from, timeoutSeconds })
      return
    }
    send(response, 200, inForm(accept, this.#page(type, matches, query)))
  }

  #page(type: ResourceType, matches: Predicate, query: URLSearchParams): unknown {
    const token = query.get('continue')
    const [versionText = String(this.objects.version), start = '0'] = token?.split(':') ?? []
    if (token !== null && Number(versionText) < this.objects.compacted) throw tooOld()
    const snapshotKey = `${tableOf(type)}@${versionText}`
    const all = token === null ? this.objects.list(type) : (this.#snapshots.get(snapshotKey) ?? [])
    this.#snapshots.set(snapshotKey, all)
    const selected = all.filter(matches)
    const from = Number(start)
    const end = from + Number(query.get('limit') ?? selected.length)
    const items = selected.slice(from, end).map(({ apiVersion: _apiVersion, kind: _kind, ...item }) => item)
    const more = end < selected.length ? { continue: `${versionText}:${end}` } : {}
    return {
      apiVersion: apiVersionOf(type),
      kind: `${type.kind}List`,
      metadata: { resourceVersion: versionText, ...more },
      items,
    }
  }

  #single(method: string, target: Target, query: URLSearchParams, body: unknown): unknown {
    const { type, subresource } = target
    const content = (body ?? {}) as KubernetesManifest
    const name = { namespace: target.namespace ?? '', name: target.name ?? content.metadata.name }
    const dryRun = query.get('dryRun') === 'All'
    const before = this.objects.get(type, name)
    if (method === 'POST') {
      if (before !== undefined)
        throw new FakeFailure(409, 'AlreadyExists', `${type.plural} "${name.name}" already exists`)
      return this.objects.put(type, content, undefined, dryRun)
    }
    if (method === 'PATCH' && query.has('fieldManager')) return this.#apply(type, name, query, content, dryRun)
    if (before === undefined) throw new FakeFailure(404, 'NotFound', `${type.plural} "${name.name}" not found`)
    if (method === 'GET') return before
    if (method === 'DELETE') return this.#delete(type, name, before, body)
    const next = method === 'PUT' ? content : (mergePatched(before, content) as KubernetesManifest)
    const version = (content as Partial<KubernetesManifest>).metadata?.resourceVersion // a patch may lack metadata
    if (version !== undefined && version !== before.metadata.resourceVersion) {
      throw new FakeFailure(
        409,
        'Conflict',
        'the object has been modified; please apply your changes to the latest version',
      )
    }
    return this.objects.put(
      type,
      subresource === 'status' ? { ...before, status: next.status } : next,
      undefined,
      dryRun,
    )
  }

  #apply(
    type: ResourceType,
    name: ObjectName,
    query: URLSearchParams,
    content: KubernetesManifest,
    dryRun: boolean,
  ): unknown {
    const options = { manager: query.get('fieldManager') ?? '', force: query.get('force') === 'true' }
    const applied = applyFields(this.objects.get(type, name), this.objects.ownersOf(type, name), content, options)
    if ('conflicts' in applied) {
      throw new FakeFailure(409, 'Conflict', `Apply failed with conflicts: ${applied.conflicts.join(', ')}`)
    }
    return this.objects.put(type, applied.object, applied.owners, dryRun)
  }

  #delete(type: ResourceType, name: ObjectName, before: KubernetesObject, body: unknown): unknown {
    const { preconditions, dryRun } = (body ?? {}) as FakeDeleteOptions
    if (preconditions?.uid !== undefined && preconditions.uid !== before.metadata.uid) {
      throw new FakeFailure(409, 'Conflict', 'the UID in the precondition does not match')
    }
    if (dryRun === undefined) this.objects.remove(type, name)
    return { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Success' }
  }
}
