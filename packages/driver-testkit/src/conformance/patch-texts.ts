import type { Action, SidecarPatch, Value } from '@osm-ts/driver-api'

/** A text in a patch. */
export interface PatchText {
  /** Where it stands, for people. */
  readonly place: string
  /** `command`: something that is executed, or requested. */
  readonly kind: 'command' | 'environment' | 'file' | 'note'
  /** References are written as `<name>`. */
  readonly text: string
}

/** Every text that a driver has put into a patch. */
export function patchTexts(patch: SidecarPatch): readonly PatchText[] {
  const { sidecar, files, initContainers, ready, drain, quit, metrics, annotations, volumes } = patch
  const texts: PatchText[] = []
  const add = (kind: PatchText['kind'], place: string, value: Value) => texts.push({ kind, place, text: asText(value) })
  add('command', 'sidecar.binary', sidecar.binary)
  sidecar.initWrapper?.forEach((word, index) => add('command', `sidecar.initWrapper[${index}]`, word))
  sidecar.args.forEach((arg, index) => add('command', `sidecar.args[${index}]`, arg))
  for (const { name, value } of sidecar.env) add('environment', `sidecar.env ${name}`, value)
  for (const { path, content } of files) if ('text' in content) add('file', path, content.text)
  for (const { name, command, env } of initContainers) {
    command.forEach((arg, index) => add('command', `initContainers ${name} command[${index}]`, arg))
    for (const variable of env) add('environment', `initContainers ${name} env ${variable.name}`, variable.value)
  }
  for (const [place, action] of Object.entries({ 'drain.action': drain?.action, quit }))
    for (const text of actionTexts(action)) add('command', place, text)
  add('command', 'ready.http.path', ready.http.path)
  if (metrics !== undefined) add('command', 'metrics.path', metrics.path)
  for (const { mountPath } of volumes) add('command', 'volumes', mountPath)
  for (const [key, value] of Object.entries(annotations)) add('note', `annotation ${key}`, value)
  return texts
}

function actionTexts(action: Action | undefined): readonly Value[] {
  if (action?.kind === 'http') return [action.path]
  return action?.kind === 'command' ? action.command : []
}

function asText(value: Value): string {
  if (typeof value === 'string') return value
  return value
    .map((item) => (typeof item === 'string' ? item : `<${item.ref === 'file' ? item.path : item.field}>`))
    .join('')
}
