import { type Check, Violation } from '../check.js'
import type { ClusterFixture } from './cluster-fixture.js'
import { askingObjects, askingSettings } from './undeclared.js'
import type { Manifest } from './kubectl.js'

interface Reported {
  readonly status?: { readonly reason?: string; readonly conditions?: readonly { readonly message?: string }[] }
}

/** Proves something on the fixture, where everything runs. */
export type Prove = (fixture: ClusterFixture, signal: AbortSignal) => Promise<void>

type MakeCheck = (name: string, proves: string, prove: Prove) => Check

/** For features that the driver does not declare: that what requests one is told, and not dropped without a word. The mesh asks the driver of its default class. */
export function undeclaredChecks(fixture: ClusterFixture, check: MakeCheck): readonly Check[] {
  const { mesh, sidecarClass, lacks } = fixture.options
  if (sidecarClass !== mesh.defaultClass) return []
  const objects = askingObjects(fixture.namespace).filter(({ feature }) => lacks.includes(feature))
  const settings = askingSettings.filter(({ feature }) => lacks.includes(feature))
  return [
    ...objects.map(({ feature, object }) =>
      check(
        `without-${feature}`,
        `${object.kind}: that the sidecars lack ${feature} is in the status of the object`,
        (_, signal) => toldInStatus(fixture, feature, object, signal),
      ),
    ),
    ...settings.map(({ feature, spec }) =>
      check(
        `without-${feature}`,
        `MeshConfig: a request for ${feature}, which the sidecars lack, is answered with a warning`,
        (_, signal) => toldWhenAsked(fixture, feature, spec, signal),
      ),
    ),
  ]
}

async function toldInStatus(
  fixture: ClusterFixture,
  feature: string,
  object: Manifest,
  signal: AbortSignal,
): Promise<void> {
  await fixture.apply([object], signal)
  try {
    const { name, namespace = '' } = object.metadata
    const [group = ''] = object.apiVersion.split('/')
    const what = [`${object.kind.toLowerCase()}.${group}/${name}`, '-n', namespace]
    const isTold = async (): Promise<boolean> => {
      const { status } = await fixture.options.kubectl.get<Reported>(what, { signal })
      const messages = [status?.reason ?? '', ...(status?.conditions ?? []).map(({ message = '' }) => message)]
      return messages.some((message) => message.includes(`(${feature})`))
    }
    await fixture.until(`the status of the ${object.kind} names ${feature}`, isTold, signal)
  } finally {
    if (!signal.aborted) await fixture.remove([object], signal)
  }
}

/** Nothing is changed: the API server only asks what would be said. */
async function toldWhenAsked(
  fixture: ClusterFixture,
  feature: string,
  spec: object,
  signal: AbortSignal,
): Promise<void> {
  const { kubectl, mesh } = fixture.options
  const what = ['meshconfig.config.openservicemesh.io/osm-mesh-config', '-n', mesh.namespace]
  const patch = ['--type=merge', '--dry-run=server', '-p', JSON.stringify({ spec })]
  const { code, stderr } = await kubectl.try(['patch', ...what, ...patch], { signal })
  // A warning, or a refusal.
  if (!stderr.includes(feature))
    throw new Violation(`the MeshConfig may ask for ${feature} without a word${code === 0 ? '' : `: ${stderr.trim()}`}`)
}
