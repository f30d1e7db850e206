import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import type { Kubectl } from '../kubectl.js'
import type { CommandOptions } from '../run-command.js'

/** A pod of the test application. */
export interface AppPodOptions {
  readonly name: string
  readonly namespace: string
  /** Reference of the image `test-app`. */
  readonly image: string
  /** What it serves, by port: see `e2e/cluster/app`. */
  readonly ports?: Readonly<Record<number, string>>
  /** Node on which it is to run. */
  readonly node?: string
  readonly labels?: Readonly<Record<string, string>>
  /** Seconds for which it serves after it was told to end. */
  readonly linger?: number
}

/** Runs the test application as its own pod. */
export function appPod({ name, namespace, image, ports = {}, node, labels = {}, linger = 0 }: AppPodOptions): object {
  const served = Object.entries(ports)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: name, ...labels } },
    spec: {
      ...(node !== undefined && { nodeSelector: { 'kubernetes.io/hostname': node } }),
      terminationGracePeriodSeconds: linger + 5,
      containers: [
        {
          name: 'app',
          image,
          imagePullPolicy: 'IfNotPresent',
          args: ['serve', `--linger=${linger}`, ...served.map(([port, app]) => `${port}=${app}`)],
          env: [{ name: 'NAME', value: name }],
          ports: served.map(([port]) => ({ containerPort: Number(port) })),
        },
      ],
    },
  }
}

/** Has a pod of the test application make one call, as `app call` takes it; a call without an answer is an answer too. */
export async function callFrom(
  kubectl: Kubectl,
  pod: { readonly name: string; readonly namespace: string },
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CallAnswer> {
  const program = ['/nodejs/bin/node', '/app/test-app.mjs', 'call', ...args]
  const exec = ['exec', pod.name, '--namespace', pod.namespace, '--container', 'app', '--', ...program]
  const { stdout, stderr } = await kubectl.try(exec, options)
  const line = stdout.trim()
  if (!line.startsWith('{')) throw new Error(`${pod.name} made no call: ${stderr.trim()}`)
  return JSON.parse(line) as CallAnswer
}
