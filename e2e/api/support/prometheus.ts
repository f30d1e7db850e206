import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { eventually } from '@osm-ts/driver-api/toolkit'
import { parse } from 'yaml'
import { render } from '../chart/render.js'
import { ChildProgram } from '../harness/index.js'
import type { Pod } from '../stand-in/index.js'
import { freePort } from './controller-process.js'
import { type Query, rulesFile } from './queries.js'

/** A target, with the labels that Prometheus finds it with. */
export interface Target {
  readonly targets: readonly string[]
  readonly labels: Readonly<Record<string, string>>
}

/** A pod as Prometheus would discover it in Kubernetes, without its ports: the relabelling of the chart sets the port. */
function podTarget({ metadata, status }: Pod): Target {
  const { namespace = '', name, labels = {}, annotations = {}, ownerReferences = [] } = metadata
  const owner = ownerReferences.find(({ controller }) => controller)
  const known = (what: string, values: Readonly<Record<string, string>>): (readonly [string, string])[] =>
    Object.entries(values).flatMap(([key, value]) => {
      const word = key.replaceAll(/\W/g, '_')
      return [
        [`__meta_kubernetes_pod_${what}_${word}`, value],
        [`__meta_kubernetes_pod_${what}present_${word}`, 'true'],
      ]
    })
  return {
    targets: [status?.podIP ?? ''],
    labels: {
      __meta_kubernetes_namespace: namespace,
      __meta_kubernetes_pod_name: name,
      ...Object.fromEntries([...known('label', labels), ...known('annotation', annotations)]),
      // The stand-in leaves out the ReplicaSets between Deployments and pods.
      ...(owner !== undefined && {
        __meta_kubernetes_pod_controller_kind: 'ReplicaSet',
        __meta_kubernetes_pod_controller_name: `${owner.name}-5d4f8`,
      }),
    },
  }
}

/** The configuration that the chart gives its Prometheus, for pods that are known already, and in a hurry. */
export function chartConfiguration(
  { name, namespace }: { readonly name: string; readonly namespace: string },
  pods: readonly Pod[],
): object {
  const manifests = render({ osm: { deployPrometheus: true, meshName: name } }, '--namespace', namespace)
  const { data } = manifests.find(({ metadata }) => metadata.name === 'osm-prometheus-server-conf') as unknown as {
    readonly data: Readonly<Record<'prometheus.yml', string>>
  }
  const config = parse(data['prometheus.yml']) as {
    readonly scrape_configs: readonly (Readonly<Record<string, unknown>> & {
      readonly kubernetes_sd_configs: object
    })[]
  }
  return {
    ...config,
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [rulesFile],
    scrape_configs: config.scrape_configs.map(({ kubernetes_sd_configs: _, ...scrape }) => ({
      ...scrape,
      static_configs: pods.map(podTarget),
    })),
  }
}

/** A real Prometheus of Debian. It cannot discover pods, so it is told of them. */
export class RunningPrometheus {
  readonly #url: string
  readonly #program: ChildProgram

  private constructor(url: string, program: ChildProgram) {
    this.#url = url
    this.#program = program
  }

  /** @param config - what is written as JSON, which YAML includes */
  static async start(folder: string, config: object): Promise<RunningPrometheus> {
    const { PROMETHEUS_BIN: binary = 'prometheus' } = process.env
    mkdirSync(folder, { recursive: true })
    const file = join(folder, 'prometheus.yml')
    writeFileSync(file, JSON.stringify(config))
    const address = `127.0.0.1:${String(await freePort('127.0.0.1'))}`
    const program = new ChildProgram({
      name: 'prometheus',
      file: binary,
      args: [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=${address}`],
      env: {},
      logFile: join(folder, 'log'),
    })
    return new RunningPrometheus(`http://${address}`, program)
  }

  get url(): string {
    return this.#url
  }

  /** The answer to a page of its API; undefined while it starts. */
  async get<T>(path: string): Promise<T | undefined> {
    const answer = await fetch(`${this.#url}/api/v1/${path}`).catch(() => undefined)
    if (answer === undefined || answer.status === 503) return undefined
    const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string }
    if (status !== 'success') throw new Error(`${path}: ${error ?? status}`)
    return data
  }

  /** The queries that have no series, or none that is a number: none of them, once they have had time to. Throws what is left after that. */
  async withoutSeries(queries: readonly Query[]): Promise<readonly string[]> {
    const read = async (): Promise<readonly string[]> => {
      const counts = await Promise.all(queries.map(async ([, expression]) => this.#countSeries(expression)))
      return queries.flatMap(([place, expression], at) => (counts[at] === 0 ? [`${place}: ${expression}`] : []))
    }
    return eventually(read, ({ length }) => length === 0, { everyMs: 1_000, what: 'series of every query' })
  }

  async stop(): Promise<void> {
    await this.#program.stop()
  }

  async #countSeries(expression: string): Promise<number> {
    const data = await this.get<{ readonly result: readonly { readonly value: readonly [number, string] }[] }>(
      `query?query=${encodeURIComponent(expression)}`,
    )
    return (data?.result ?? []).filter(({ value: [, text] }) => text !== 'NaN').length
  }
}
