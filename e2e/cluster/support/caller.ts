import { type Call, type CallAnswer, Kubectl, PodCaller } from '@osm-ts/driver-testkit/testing'
import { parseCall, type CallSettings } from '../app/call.js'
import type { SharedCluster } from './shared-cluster.js'

const settingsOfCalls: CallSettings = { method: 'GET', header: [], http2: false }

/** What a call can be given besides its URL; see `CallSettings`. */
export type CallOptions = Partial<CallSettings>

/** Makes calls from inside a container of the test application. */
export class Caller {
  /** For messages. */
  readonly name: string
  readonly #pods: PodCaller

  /** @param target - as kubectl takes it: `pod/x`, `deploy/x` */
  constructor({ kubectlPath, kubeconfig }: SharedCluster, namespace: string, target: string) {
    this.name = `${namespace}/${target.replace(/^[a-z]+\//, '')}`
    const program = ['/nodejs/bin/node', '/app/test-app.mjs']
    const kubectl = new Kubectl(kubectlPath, process.env, kubeconfig)
    this.#pods = new PodCaller(kubectl, { target, namespace, program, name: this.name, answerMs: 150_000 })
  }

  /** Makes a call of a URL, as `app call` takes it. A call that was not answered is an answer too. */
  call(url: string, options: CallOptions = {}): Promise<CallAnswer> {
    return this.perform(parseCall(new URL(url), { ...settingsOfCalls, ...options }))
  }

  close(): void {
    this.#pods.close()
  }

  /** Makes a call. */
  perform(call: Call): Promise<CallAnswer> {
    return this.#pods.call(call)
  }
}
