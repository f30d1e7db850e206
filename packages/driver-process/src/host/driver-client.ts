import type { Client, ClientReadableStream } from '@grpc/grpc-js'
import {
  type DebugRequest,
  type DebugResponse,
  type HealthProbes,
  type InjectorContext,
  OsmError,
  type SidecarPatch,
  validateHealthProbes,
  validateSidecarPatch,
} from '@osm-ts/driver-api'
import { hostContracts } from '@osm-ts/driver-api/host'

import { startContextMessage, type StartData } from '../wire/values.js'
import { callStream, callUnary, connectTo, type CallBounds } from '../wire/calls.js'
import { fromServiceError, processError } from '../wire/failure.js'
import { driverService, type Message, type Method } from '../wire/services.js'
import { type DeclaredDriver, parseDocument, readDeclaration } from './declaration.js'
import type { DriverLimits } from './limits.js'

/** A driver that was started. */
export interface StartCall {
  readonly probes: HealthProbes
  /** Resolves when the driver has ended the call by itself, with what it said. */
  readonly ended: Promise<Error>
  /** Tells the driver to stop. */
  stop(): void
}

/** Asks one process of a driver. Every call has a deadline, and every answer is checked. */
export class DriverClient {
  readonly #name: string
  readonly #limits: DriverLimits
  readonly #client: Client

  /** @param name - of the driver, for people */
  constructor(name: string, socket: string, limits: DriverLimits) {
    this.#name = name
    this.#limits = limits
    this.#client = connectTo(socket)
  }

  /** @throws OsmError as `readDeclaration` does, or with what the driver says of why it can't be loaded */
  async describe(expected: string, signal: AbortSignal): Promise<DeclaredDriver> {
    const bounds = { deadlineMs: this.#limits.describeMs, signal, waitForReady: true } as const
    const request = { contract: hostContracts }
    return readDeclaration(await this.#ask(driverService.Describe, request, 'asked what it is', bounds), expected)
  }

  /** @throws OsmError with the driver's own code, `OSM_DRIVER_TIMEOUT`, `OSM_DRIVER_UNAVAILABLE` or `OSM_DRIVER_PROTOCOL` */
  async patch({ signal, ...context }: InjectorContext): Promise<SidecarPatch> {
    const bounds = { deadlineMs: this.#limits.patchMs, signal }
    const request = { context: JSON.stringify(context) }
    const answer = await this.#ask(driverService.Patch, request, 'asked for a patch', bounds)
    const patch = parseDocument(answer.patch)
    this.#refuse(validateSidecarPatch(patch), 'a sidecar patch')
    return patch as SidecarPatch // that is what was just checked
  }

  /**
   * @param signal - gives the start up before there are probes; afterwards `stop` of what is returned ends it
   * @throws OsmError with the driver's own code, `OSM_DRIVER_TIMEOUT`, `OSM_DRIVER_UNAVAILABLE` or `OSM_DRIVER_PROTOCOL`; `OSM_DRIVER_START` if it was given up
   */
  async start(
    data: StartData,
    hostSocket: string,
    onCancel: (reason: Error) => void,
    signal: AbortSignal,
  ): Promise<StartCall> {
    const what = `driver ${this.#name}, asked to start,`
    const call = this.#startCall({ context: startContextMessage(data), hostSocket }, what)
    const ended = new Promise<Error>((resolve) => {
      call.on('error', (error) => resolve(fromServiceError(error, what)))
      call.on('end', () => resolve(processError('OSM_DRIVER_PROTOCOL', `${what} ended by itself`)))
    })
    const stop = (): void => call.cancel()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      return { probes: await this.#firstProbes(call, ended, onCancel), ended, stop }
    } catch (error) {
      stop()
      if (signal.aborted) throw new OsmError('OSM_DRIVER_START', `${what} was stopped before it ran`)
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** @throws OsmError as {@link patch} does */
  async debug(request: DebugRequest): Promise<DebugResponse> {
    const bounds = { deadlineMs: this.#limits.debugMs }
    const response = await this.#ask(driverService.Debug, request, 'asked for a page', bounds)
    if (response.status < 100 || response.status > 599)
      throw processError('OSM_DRIVER_PROTOCOL', `driver ${this.#name} gave a page with status ${response.status}`)
    return response
  }

  /** @throws OsmError with code `OSM_DRIVER_TIMEOUT` or `OSM_DRIVER_UNAVAILABLE` */
  async ping(signal: AbortSignal): Promise<void> {
    await this.#ask(driverService.Ping, {}, 'asked whether it is there', { deadlineMs: this.#limits.pingMs, signal })
  }

  close(): void {
    this.#client.close()
  }

  async #ask<Request, Response>(
    method: Method<Request, Response>,
    request: Partial<Request>,
    what: string,
    bounds: CallBounds,
  ): Promise<Response> {
    try {
      return await callUnary(this.#client, method, request, bounds)
    } catch (error) {
      if (bounds.signal?.aborted === true)
        throw processError('OSM_DRIVER_TIMEOUT', `driver ${this.#name}, ${what}, did not answer before it was given up`)
      throw fromServiceError(error, `driver ${this.#name}, ${what},`)
    }
  }

  /** @throws OsmError with code `OSM_DRIVER_UNAVAILABLE` where the process was given up before it could be asked */
  #startCall(request: Message<'startRequest'>, what: string) {
    try {
      return callStream(this.#client, driverService.Start, request)
    } catch (error) {
      throw fromServiceError(error, what)
    }
  }

  #firstProbes(
    call: ClientReadableStream<Message<'startEvent'>>,
    ended: Promise<Error>,
    onCancel: (reason: Error) => void,
  ): Promise<HealthProbes> {
    return new Promise((resolve, reject) => {
      const { startMs } = this.#limits
      const timer = setTimeout(() => {
        reject(processError('OSM_DRIVER_TIMEOUT', `driver ${this.#name}, asked to start, did not in ${startMs} ms`))
      }, startMs)
      void ended.then((error) => {
        clearTimeout(timer)
        reject(error)
      })
      call.on('data', ({ probes, cancelled }: Message<'startEvent'>) => {
        if (cancelled !== '') onCancel(new OsmError('OSM_DRIVER_START', cancelled))
        if (probes === undefined) return
        clearTimeout(timer)
        try {
          this.#refuse(validateHealthProbes(probes), 'health probes')
          resolve(probes)
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)))
        }
      })
    })
  }

  #refuse(issues: readonly { readonly pointer: string; readonly message: string }[], what: string): void {
    if (issues.length === 0) return
    const reasons = issues.map(({ pointer, message }) => `${pointer} ${message}`)
    throw processError('OSM_DRIVER_PROTOCOL', `driver ${this.#name} gave no ${what}: ${reasons.join('; ')}`, {
      driver: this.#name,
      reasons,
    })
  }
}
