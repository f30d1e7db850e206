import type {
  ApplyOptions,
  GetOptions,
  KubernetesApi,
  KubernetesManifest,
  KubernetesObject,
  ListPage,
  ListQuery,
  ObjectName,
  ResourceType,
  WatchEvent,
  WatchQuery,
  WriteOptions,
} from '../api.js'
import { isKubernetesError, type KubernetesError } from '../kubernetes-error.js'
import { apiVersionOf } from '../resource-types.js'
import { readBody, readLines } from './answer-body.js'
import { asListPage, asObject, asWatchEvent, ofType, parseJson } from './decode.js'
import { collectionPath, listPath, objectPath, watchPath, withQuery } from './request-path.js'
import { statusError } from './status-error.js'
import { unreachable, type Transport, type TransportRequest } from './transport.js'
import type { WholeAnswer } from './whole-answer.js'

/** An answer that is read as a whole. A page of 500 objects of usual size has 3 MB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** One change. The largest object that etcd takes has 1.5 MB. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024

/** What the API server makes of objects whose metadata alone is requested. One that can't answers with whole objects. */
const METADATA_ONLY = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json' }
const METADATA_LIST = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json' }

type Request = TransportRequest & { readonly secret?: boolean }

/** The API server by its REST API. */
export class RestApi implements KubernetesApi {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async list(type: ResourceType, query: ListQuery, signal: AbortSignal): Promise<ListPage> {
    const what = `list of ${kindName(type)}`
    const form = query.answer === 'metadata' ? METADATA_LIST : {}
    const body = await this.#exchange({ method: 'GET', path: listPath(type, query), signal, what, ...form })
    return asListPage(body, type, what)
  }

  async *watch(type: ResourceType, query: WatchQuery, signal: AbortSignal): AsyncGenerator<WatchEvent, void> {
    const what = `watch of ${kindName(type)}`
    const request = { method: 'GET', path: watchPath(type, query), signal, what } as const
    const answer = await this.#transport.open(request)
    try {
      if (answer.status !== 200)
        throw failure({ ...answer, body: await readBody(answer.body, MAX_ANSWER_BYTES, what) }, request)
      query.onOpen?.()
      for await (const line of readLines(answer.body, MAX_EVENT_BYTES, what)) {
        yield asWatchEvent(parseJson(line, what), what)
      }
    } catch (error) {
      signal.throwIfAborted()
      throw isKubernetesError(error) ? error : unreachable(what, this.#transport.server, error)
    } finally {
      answer.release()
    }
  }

  async get(
    type: ResourceType,
    name: ObjectName,
    signal: AbortSignal,
    { answer }: GetOptions = {},
  ): Promise<KubernetesObject | undefined> {
    const what = `get ${nameOf(type, name)}`
    const form = answer === 'metadata' ? METADATA_ONLY : {}
    const body = await this.#found({ method: 'GET', path: objectPath(type, name), signal, what, ...form })
    return body === undefined ? undefined : readObject(body, type, what, answer)
  }

  async create(type: ResourceType, manifest: KubernetesManifest, options: WriteOptions): Promise<KubernetesObject> {
    const path =
      options.subresource === undefined
        ? collectionPath(type, manifest.metadata.namespace)
        : objectPath(type, manifestName(manifest), options.subresource)
    return this.#write('POST', 'create', type, manifestName(manifest), manifest, path, options)
  }

  async replace(type: ResourceType, manifest: KubernetesManifest, options: WriteOptions): Promise<KubernetesObject> {
    const name = manifestName(manifest)
    const path = objectPath(type, name, options.subresource)
    return this.#write('PUT', 'replace', type, name, manifest, path, options)
  }

  async apply(type: ResourceType, manifest: KubernetesManifest, options: ApplyOptions): Promise<KubernetesObject> {
    const name = manifestName(manifest)
    const { fieldManager, force } = options
    const path = withQuery(objectPath(type, name, options.subresource), { fieldManager, force })
    return this.#write('PATCH', 'apply', type, name, manifest, path, options, 'application/apply-patch+yaml')
  }

  async mergePatch(
    type: ResourceType,
    name: ObjectName,
    patch: Readonly<Record<string, unknown>>,
    options: WriteOptions,
  ): Promise<KubernetesObject> {
    const path = objectPath(type, name, options.subresource)
    return this.#write('PATCH', 'patch', type, name, patch, path, options, 'application/merge-patch+json')
  }

  async delete(
    type: ResourceType,
    name: ObjectName,
    options: WriteOptions & { readonly uid?: string; readonly propagation?: 'Background' | 'Foreground' | 'Orphan' },
  ): Promise<boolean> {
    const { uid, propagation, dryRun, signal } = options
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(uid === undefined ? {} : { preconditions: { uid } }),
      ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
      ...(dryRun === true ? { dryRun: ['All'] } : {}),
    }
    const answer = await this.#found({
      method: 'DELETE',
      path: objectPath(type, name, options.subresource),
      body: JSON.stringify(body),
      contentType: 'application/json',
      signal,
      what: `delete ${nameOf(type, name)}`,
      secret: isSecret(type),
    })
    return answer !== undefined
  }

  async read(path: string, signal: AbortSignal): Promise<unknown> {
    return this.#found({ method: 'GET', path, signal, what: `read ${path}` })
  }

  async post(path: string, body: unknown, signal: AbortSignal): Promise<unknown> {
    const contentType = 'application/json'
    return this.#exchange({
      method: 'POST',
      path,
      body: JSON.stringify(body),
      contentType,
      signal,
      what: `post ${path}`,
      secret: true,
    })
  }

  async #write(
    method: 'POST' | 'PUT' | 'PATCH',
    verb: string,
    type: ResourceType,
    name: ObjectName,
    content: Readonly<Record<string, unknown>>,
    path: string,
    options: WriteOptions,
    contentType = 'application/json',
  ): Promise<KubernetesObject> {
    const what = `${verb} ${nameOf(type, name)}`
    const body = await this.#exchange({
      method,
      path: options.dryRun === true ? `${path}${path.includes('?') ? '&' : '?'}dryRun=All` : path,
      body: JSON.stringify(content),
      contentType,
      ...(options.answer === 'metadata' ? METADATA_ONLY : {}),
      signal: options.signal,
      what,
      secret: isSecret(type),
    })
    return readObject(body, type, what, options.answer)
  }

  /** What was answered, or undefined if there is no such thing. */
  async #found(request: Request): Promise<unknown> {
    try {
      return await this.#exchange(request)
    } catch (error) {
      if (isKubernetesError(error) && error.status === 404) return undefined
      throw error
    }
  }

  async #exchange(request: Request): Promise<unknown> {
    const answer = await this.#transport.exchange(request, MAX_ANSWER_BYTES)
    if (answer.status < 200 || answer.status > 299) throw failure(answer, request)
    const text = answer.body.toString('utf8')
    return isJson(answer) ? parseJson(text, request.what) : text
  }
}

/** Mere metadata is read as of its object. */
function readObject(body: unknown, type: ResourceType, what: string, answer: 'metadata' | undefined): KubernetesObject {
  const object = asObject(body, what)
  return answer === 'metadata' ? ofType(type, object) : object
}

function failure(answer: WholeAnswer, request: { readonly what: string; readonly secret?: boolean }): KubernetesError {
  const retryAfter = answer.headers['retry-after']
  return statusError(request.what, request.secret === true, {
    status: answer.status,
    body: isJson(answer) ? parseJson(answer.body.toString('utf8'), request.what) : undefined,
    retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
  })
}

function isJson({ headers }: Pick<WholeAnswer, 'headers'>): boolean {
  return String(headers['content-type']).startsWith('application/json')
}

function isSecret(type: ResourceType): boolean {
  return type.group === '' && type.plural === 'secrets'
}

function manifestName(manifest: KubernetesManifest): ObjectName {
  return { namespace: manifest.metadata.namespace ?? '', name: manifest.metadata.name }
}

function kindName(type: ResourceType): string {
  return `${type.plural} (${apiVersionOf(type)})`
}

function nameOf(type: ResourceType, { namespace, name }: ObjectName): string {
  return `${type.kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}
