import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { parse, parseAllDocuments } from 'yaml'

interface Container {
  readonly name: string
  readonly image: string
  readonly command: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
}

interface Deployment {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: {
    readonly replicas: number
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> }
      readonly spec: {
        readonly serviceAccountName: string
        readonly containers: readonly [Container]
        readonly volumes: readonly [
          { readonly configMap: { readonly items: readonly { readonly key: string; readonly path: string }[] } },
        ]
      }
    }
  }
}

interface Workload {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string; readonly labels: object }
  readonly spec: {
    readonly serviceAccountName: string
    readonly replicas?: number
    readonly command: readonly [string, string]
    readonly ports?: readonly { readonly name: string; readonly port: number }[]
  }
}

interface Kustomization {
  readonly resources: readonly string[]
  readonly configMapGenerator: readonly { readonly namespace: string; readonly files: readonly string[] }[]
}

const here = new URL('./', import.meta.url)
const text = (path: string): string => readFileSync(new URL(path, here), 'utf8')
const documents = <T>(path: string): readonly T[] => parseAllDocuments(text(path)).map((each) => each.toJS() as T)
const kustomization = parse(text('kustomization.yaml')) as Kustomization
const deployments = ['kubernetes/clients.yaml', 'kubernetes/servers.yaml'].flatMap((path) =>
  documents<Deployment>(path),
)
const workloads = readdirSync(new URL('mesh/', here))
  .flatMap((file) => documents<Workload>(`mesh/${file}`))
  .filter(({ kind }) => kind === 'Workload')

describe('the bookstore on Kubernetes', () => {
  it('has every file of the mesh', () => {
    expect([...kustomization.resources].sort()).toEqual(
      ['kubernetes', 'mesh'].flatMap((folder) =>
        readdirSync(new URL(`${folder}/`, here))
          .map((file) => `${folder}/${file}`)
          .sort(),
      ),
    )
  })

  it('has a Deployment with the labels, account, program and ports of each Workload', () => {
    const ofDeployment = ({ metadata, spec: { replicas, template } }: Deployment) => ({
      workload: `${metadata.namespace}/${metadata.name}`,
      labels: template.metadata.labels,
      account: template.spec.serviceAccountName,
      replicas,
      program: template.spec.containers[0].command.at(-1),
      ports: (template.spec.containers[0].ports ?? []).map(({ name, containerPort }) => `${name} ${containerPort}`),
    })
    const ofWorkload = ({ metadata, spec }: Workload) => ({
      workload: `${metadata.namespace}/${metadata.name}`,
      labels: metadata.labels,
      account: spec.serviceAccountName,
      replicas: spec.replicas ?? 1,
      program: `/app/${spec.command[1]}`,
      ports: (spec.ports ?? []).map(({ name, port }) => `${name} ${port}`),
    })
    const byName = (a: { workload: string }, b: { workload: string }): number => (a.workload < b.workload ? -1 : 1)
    expect(deployments.map(ofDeployment).sort(byName)).toEqual(workloads.map(ofWorkload).sort(byName))
  })

  it('mounts the program of each Deployment with the whole library', () => {
    const library = readdirSync(new URL('lib/', here)).map((file) => `lib/${file}`)
    for (const { metadata, spec } of deployments) {
      const { containers, volumes } = spec.template.spec
      const generated = kustomization.configMapGenerator.find(({ namespace }) => namespace === metadata.namespace)
      const sources = new Map(
        generated?.files.map((file) => [file.split('=')[0], file.split('=').at(-1) ?? ''] as const),
      )
      const { items } = volumes[0].configMap
      for (const { key, path } of items) {
        expect(sources.get(key)).toBe(path)
        expect(existsSync(new URL(path, here))).toBe(true)
      }
      const program = containers[0].command.at(-1)?.replace('/app/', '')
      expect(items.map(({ path }) => path).sort()).toEqual([program, ...library].sort())
    }
  })
})
