import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'

import { type ObjectOrigin, type ObjectRef, readWrittenValues, type WrittenValue, writtenValuesOf } from '@osm-ts/core'
import { isObject, type JsonObject } from '@osm-ts/injector'

import { type InputFiles, STANDARD_INPUT, STANDARD_INPUT_NAME } from '../../spec/input-files.js'
import { podTemplate, type PodTemplate } from '../../inject/pod-templates.js'

/** An object that makes pods, such as a Deployment, as it is written in a file. */
export interface WrittenWorkload {
  readonly object: ObjectRef
  readonly template: PodTemplate
  /** Path of the template in the object, such as `spec.template`; empty for a Pod. */
  readonly at: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Where its kind is written. */
  readonly ofKind: ObjectOrigin
  readonly locate: (field: string) => ObjectOrigin
}

/** Namespace of what names none, as for the objects of the mesh. */
const DEFAULT_NAMESPACE = 'default'

/**
 * Reads the objects of files and folders that make pods: those of Kubernetes, and others with a template of pods at `spec.template`. An object that is written
 * down twice counts once.
 */
export async function readWorkloads(files: InputFiles): Promise<readonly WrittenWorkload[]> {
  const found = new Map<string, WrittenWorkload>()
  for (const path of files.paths) {
    for (const written of await writtenValues(path, files)) {
      const workload = workloadOf(written)
      if (workload === undefined) continue
      const { kind, namespace, name } = workload.object
      const key = `${kind}/${namespace}/${name}`
      if (!found.has(key)) found.set(key, workload)
    }
  }
  return [...found.values()]
}

async function writtenValues(path: string, { cwd, standardInput }: InputFiles): Promise<readonly WrittenValue[]> {
  // Every pod has containers, and few documents of a mesh have the word.
  const mayMatter = (text: string): boolean => text.includes('containers')
  if (path === STANDARD_INPUT) return writtenValuesOf(standardInput, STANDARD_INPUT_NAME, mayMatter)
  const absolute = resolve(cwd, path)
  return readWrittenValues(absolute, (await stat(absolute)).isDirectory(), mayMatter)
}

function workloadOf({ value, ofKind, locate }: WrittenValue): WrittenWorkload | undefined {
  const object = value as JsonObject // read from YAML or JSON
  const template = podTemplate(object, DEFAULT_NAMESPACE)
  if (template === undefined || typeof object.kind !== 'string') return undefined
  const metadata = isObject(object.metadata) ? object.metadata : {}
  const name = typeof metadata.name === 'string' ? metadata.name : ''
  return {
    object: { kind: object.kind, namespace: template.namespace, name },
    template,
    at: template.at.slice(1).replaceAll('/', '.'),
    labels: textsOf(metadata.labels),
    annotations: textsOf(metadata.annotations),
    ofKind,
    locate,
  }
}

/** Labels or annotations of the pods that a workload makes. */
export function podTexts(
  { template: { pod } }: Pick<WrittenWorkload, 'template'>,
  member: 'labels' | 'annotations',
): Readonly<Record<string, string>> {
  return isObject(pod.metadata) ? textsOf(pod.metadata[member]) : {}
}

/** Members that are texts: others are refused by the API server. */
function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries((value ?? {}) as Record<string, unknown>)
  return Object.fromEntries(entries.flatMap(([name, text]) => (typeof text === 'string' ? [[name, text]] : [])))
}
