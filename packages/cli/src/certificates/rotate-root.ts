import { cliError } from '../errors.js'
import type { RootObject, RootRole } from './root-objects.js'

/** How far the sidecars of one controller are. */
export interface ControllerProgress {
  readonly controller: string
  /** Fingerprint of the root that signs there. */
  readonly signs: string
  readonly connected: number
  readonly confirmed: number
}

/** What a rotation works on. */
export interface RotationTarget {
  readonly roots: () => Promise<readonly RootObject[]>
  readonly setRole: (name: string, role: RootRole) => Promise<void>
  /** How far sidecars are, by controller; empty where controllers cannot be asked. */
  readonly progress: () => Promise<readonly ControllerProgress[]>
  /** Told a line whenever something has changed. */
  readonly tell: (line: string) => void
  readonly sleep: (milliseconds: number) => Promise<void>
  /** Milliseconds; 0 for no limit. */
  readonly timeoutMs: number
  readonly now: () => number
}

/** How a rotation ended. */
export interface RotationResult {
  readonly from: string
  readonly to: string
  readonly state: string
  readonly controllers: readonly ControllerProgress[]
}

const POLL_MS = 1_000
const REPLACED = 'all certificates to be replaced'

/**
 * Has another MeshRootCertificate sign: first every sidecar trusts its root, then the roles are exchanged. What stops it before the other one signs restores the roles.
 *
 * @throws OsmError `OSM_CLI_ROTATION` if nothing was changed, `OSM_CLI_ROTATION_STOPPED` if it stopped
 */
export async function rotateTo(name: string, target: RotationTarget): Promise<RotationResult> {
  const roots = await target.roots()
  const former = activeOf(roots)
  const next = named(roots, name)
  const until = deadline(target)
  if (next === former) {
    await waitFor(name, target, until, isReplaced, REPLACED)
    return { from: name, to: name, ...(await outcome(name, target)) }
  }
  if (next.role !== 'passive') await target.setRole(name, 'passive')
  await restoring(target, { [name]: next.role }, () =>
    waitFor(name, target, until, isTrusted, 'sidecars to trust its root'),
  )
  return exchange(former.name, name, target, until)
}

/**
 * Has a MeshRootCertificate sign again that has signed before. Takes effect at once, because its root is still trusted.
 *
 * @param name - undefined: the one that has signed last
 * @throws OsmError `OSM_CLI_ROLLBACK` if sidecars do not trust its root any more, or `OSM_CLI_ROTATION`, `OSM_CLI_ROTATION_STOPPED`
 */
export async function rollBack(name: string | undefined, target: RotationTarget): Promise<RotationResult> {
  const roots = await target.roots()
  const active = activeOf(roots)
  const former = name === undefined ? formerOf(roots) : named(roots, name)
  if (former === active) throw refused(`MeshRootCertificate ${active.name} is active already`, 'name another one')
  if (!isTrusted(former)) {
    const why =
      former.role === 'passive'
        ? (former.trusted?.message ?? 'the controller has not looked at it yet')
        : `its role is ${former.role}`
    throw cliError(
      'OSM_CLI_ROLLBACK',
      `sidecars do not trust the root of MeshRootCertificate ${former.name}, so that going back would cut traffic: ${why}`,
      `have them trust it first: osm certificate rotate ${former.name}`,
    )
  }
  return exchange(active.name, former.name, target, deadline(target))
}

async function exchange(from: string, to: string, target: RotationTarget, until: number): Promise<RotationResult> {
  await restoring(target, { [from]: 'active', [to]: 'passive' }, async () => {
    // Two that are active change nothing; none would be the built-in authority.
    await target.setRole(to, 'active')
    await target.setRole(from, 'passive')
    await waitFor(to, target, until, ({ issuing }) => issuing?.isTrue === true, 'it to sign')
  })
  target.tell(`${to} signs; certificates of ${from} are being replaced`)
  await waitFor(to, target, until, isReplaced, REPLACED)
  return { from, to, ...(await outcome(to, target)) }
}

/** Sets roles back when something stops a rotation before its next stage. */
async function restoring(
  target: RotationTarget,
  roles: Readonly<Record<string, RootRole>>,
  run: () => Promise<void>,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    for (const [name, role] of Object.entries(roles))
      await target.setRole(name, role).then(
        () => target.tell(`${name} is ${role} as before`),
        () => target.tell(`the role of ${name} was not restored to ${role}`),
      )
    throw error
  }
}

async function waitFor(
  name: string,
  target: RotationTarget,
  until: number,
  isDone: (root: RootObject) => boolean,
  what: string,
): Promise<void> {
  let told = ''
  for (;;) {
    const root = named(await target.roots(), name)
    if (isDone(root)) return
    if (root.state === 'error' && root.issuing !== undefined)
      throw stopped(`MeshRootCertificate ${name}: ${root.issuing.message} [${root.issuing.reason}]`)
    const reason = root.role === 'active' ? root.issuing : root.trusted
    const sidecars = (await target.progress()).map(
      ({ controller, confirmed, connected }) => `${controller}: ${confirmed} of ${connected} sidecars have confirmed`,
    )
    const line = [`${name} is ${root.state ?? 'not looked at yet'}`, ...sidecars].join('; ')
    if (line !== told) target.tell(line)
    told = line
    if (target.now() > until)
      throw stopped(
        `MeshRootCertificate ${name}: no longer waiting for ${what}: ${reason?.message ?? 'the controller has not looked at it yet'}`,
      )
    await target.sleep(POLL_MS)
  }
}

async function outcome(name: string, target: RotationTarget): Promise<Pick<RotationResult, 'state' | 'controllers'>> {
  const { state = '' } = named(await target.roots(), name)
  return { state, controllers: await target.progress() }
}

/**
 * Makes sure that a rotation can begin.
 *
 * @throws OsmError `OSM_CLI_ROTATION`
 */
export function assertOneActive(roots: readonly RootObject[]): void {
  activeOf(roots)
}

function activeOf(roots: readonly RootObject[]): RootObject {
  const [active, ...others] = roots.filter(({ role }) => role === 'active')
  if (active === undefined)
    throw refused(
      'no MeshRootCertificate is active',
      'create one for the provider that signs; the mesh needs osm.featureFlags.enableMeshRootCertificate=true',
    )
  if (others.length > 0)
    throw refused(
      `more than one MeshRootCertificate is active: ${[active, ...others].map(({ name }) => name).join(', ')}`,
      'set spec.role of the others to passive',
    )
  if (active.accepted?.reason === 'OSM_SPEC_NO_EFFECT')
    throw refused(
      'the mesh takes its provider from flags, and does not read MeshRootCertificates',
      'set osm.featureFlags.enableMeshRootCertificate to true in the values of the chart',
    )
  return active
}

/** The one that has signed before. */
function formerOf(roots: readonly RootObject[]): RootObject {
  const passive = roots.filter(({ role }) => role === 'passive')
  const candidates = passive.filter(({ state, issuing }) => state === 'issuingRollback' || issuing?.isTrue === true)
  const [only, ...others] = candidates.length === 1 ? candidates : passive
  if (only === undefined)
    throw cliError(
      'OSM_CLI_ROLLBACK',
      'no MeshRootCertificate is passive, so that sidecars trust no root to go back to',
      'have them trust one first: osm certificate rotate <name>',
    )
  if (others.length > 0)
    throw refused(
      `several MeshRootCertificates are passive: ${passive.map(({ name }) => name).join(', ')}`,
      'name the one to go back to',
    )
  return only
}

function named(roots: readonly RootObject[], name: string): RootObject {
  const found = roots.find((root) => root.name === name)
  if (found !== undefined) return found
  const names = roots.map((root) => root.name).join(', ')
  throw refused(`there is no MeshRootCertificate ${name}`, names === '' ? 'create it first' : `there are: ${names}`)
}

function isTrusted({ role, trusted }: RootObject): boolean {
  return role === 'passive' && trusted?.isTrue === true
}

function isReplaced({ state, issuing }: RootObject): boolean {
  return state === 'active' && issuing?.isTrue === true
}

function deadline({ timeoutMs, now }: RotationTarget): number {
  return timeoutMs === 0 ? Number.POSITIVE_INFINITY : now() + timeoutMs
}

function refused(message: string, hint: string): Error {
  return cliError('OSM_CLI_ROTATION', message, hint)
}

function stopped(message: string): Error {
  return cliError(
    'OSM_CLI_ROTATION_STOPPED',
    message,
    'see osm certificate status, fix the cause, and run the command again',
  )
}
