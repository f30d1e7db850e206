import { beforeEach, describe, expect, it } from '@jest/globals'

import type { RootObject, RootRole } from './root-objects.js'
import { rollBack, rotateTo, type RotationTarget } from './rotate-root.js'

const yes = { isTrue: true, reason: 'Confirmed', message: 'all connected sidecars trust the root' }
const no = (message: string, reason = 'Waiting') => ({ isTrue: false, reason, message })

describe('a rotation by the command line', () => {
  let roots: Map<string, RootObject>
  let changes: string[]
  let lines: string[]
  let time: number
  /** What the leading controller makes of the objects, each time that the command has waited. */
  let leader: () => void

  const put = (root: RootObject): void => void roots.set(root.name, root)
  const edit = (name: string, more: Partial<RootObject>): void => {
    const root = roots.get(name)
    if (root !== undefined) put({ ...root, ...more })
  }
  const target: RotationTarget = {
    roots: async () => [...roots.values()],
    setRole: async (name, role: RootRole) => {
      changes.push(`${name} ${role}`)
      const root = roots.get(name)
      // Conditions are about the version before.
      if (root !== undefined && root.role !== role) {
        const { trusted: _trusted, issuing: _issuing, ...rest } = root
        put({ ...rest, role })
      }
    },
    progress: async () => [{ controller: 'osm-controller-a', signs: 'AA', connected: 3, confirmed: 2 }],
    tell: (line) => void lines.push(line),
    sleep: async () => {
      time += 1_000
      leader()
    },
    timeoutMs: 60_000,
    now: () => time,
  }

  beforeEach(() => {
    roots = new Map()
    changes = []
    lines = []
    time = 0
    put({ name: 'old', role: 'active', trustDomain: 'mesh', state: 'active', trusted: yes, issuing: yes })
    put({ name: 'next', role: 'inactive', trustDomain: 'mesh', state: 'inactive' })
    leader = () => {
      const next = roots.get('next')
      if (next?.role === 'passive') edit('next', { state: 'passive', trusted: yes })
      if (next?.role !== 'active') return
      edit('next', { state: next.state === 'issuingRollout' ? 'active' : 'issuingRollout', issuing: yes })
      edit('old', { state: 'issuingRollback', trusted: yes })
    }
  })

  it('has sidecars trust the next root first, and never leaves the mesh without an active one', async () => {
    await expect(rotateTo('next', target)).resolves.toMatchObject({ from: 'old', to: 'next', state: 'active' })
    expect(changes).toEqual(['next passive', 'next active', 'old passive'])
    expect(lines).toContain('next is inactive; osm-controller-a: 2 of 3 sidecars have confirmed')
  })

  it('changes nothing where the root signs already', async () => {
    await expect(rotateTo('old', target)).resolves.toMatchObject({ from: 'old', to: 'old', state: 'active' })
    expect(changes).toEqual([])
  })

  it('waits on for a rotation that has been begun', async () => {
    edit('old', { role: 'passive', state: 'issuingRollback' })
    edit('next', { role: 'active', state: 'issuingRollout', issuing: yes })
    await expect(rotateTo('next', target)).resolves.toMatchObject({ from: 'next', to: 'next', state: 'active' })
    expect(changes).toEqual([])
    expect(time).toBeGreaterThan(0)
  })

  it('stops at the timeout with what it waits for, and restores the role', async () => {
    leader = () => edit('next', { state: 'validatingRollout', trusted: no('replica b: 1 of 2 sidecars') })
    await expect(rotateTo('next', target)).rejects.toMatchObject({
      code: 'OSM_CLI_ROTATION_STOPPED',
      message: 'MeshRootCertificate next: no longer waiting for sidecars to trust its root: replica b: 1 of 2 sidecars',
    })
    expect(changes).toEqual(['next passive', 'next inactive'])
  })

  it('stops at an error of the next provider before it signs, and restores both roles', async () => {
    put({ name: 'next', role: 'passive', trustDomain: 'mesh', state: 'passive', trusted: yes })
    leader = () => edit('next', { state: 'error', issuing: no('Secret osm-system/vault is missing', 'OSM_CERT_X') })
    await expect(rotateTo('next', target)).rejects.toThrow(
      'MeshRootCertificate next: Secret osm-system/vault is missing [OSM_CERT_X]',
    )
    expect(changes).toEqual(['next active', 'old passive', 'old active', 'next passive'])
    expect([...roots.values()].map(({ role }) => role)).toEqual(['active', 'passive'])
  })

  it('goes back to the root that has signed last', async () => {
    put({ name: 'old', role: 'passive', trustDomain: 'mesh', state: 'issuingRollback', trusted: yes })
    put({ name: 'next', role: 'active', trustDomain: 'mesh', state: 'active', trusted: yes, issuing: yes })
    put({ name: 'third', role: 'passive', trustDomain: 'mesh', state: 'passive', trusted: yes })
    leader = () => edit('old', { state: 'active', issuing: yes })
    await expect(rollBack(undefined, target)).resolves.toMatchObject({ from: 'next', to: 'old', state: 'active' })
    expect(changes).toEqual(['old active', 'next passive'])
  })

  it('does not go back to a root that sidecars do not trust', async () => {
    await expect(rollBack('next', target)).rejects.toMatchObject({
      code: 'OSM_CLI_ROLLBACK',
      message: expect.stringContaining('would cut traffic: its role is inactive'),
    })
    await expect(rollBack(undefined, target)).rejects.toMatchObject({ code: 'OSM_CLI_ROLLBACK' })
    edit('next', { role: 'passive', trusted: no('replica b: sidecars learn to trust the root') })
    await expect(rollBack('next', target)).rejects.toThrow('replica b: sidecars learn to trust the root')
    expect(changes).toEqual([])
  })

  it('refuses what it cannot decide', async () => {
    await expect(rotateTo('none', target)).rejects.toMatchObject({
      code: 'OSM_CLI_ROTATION',
      details: { hint: 'there are: old, next' },
    })
    edit('next', { role: 'active' })
    await expect(rotateTo('next', target)).rejects.toThrow('more than one MeshRootCertificate is active: old, next')
    edit('next', { role: 'passive' })
    edit('old', { accepted: { ...yes, reason: 'OSM_SPEC_NO_EFFECT' } })
    await expect(rotateTo('next', target)).rejects.toThrow('does not read MeshRootCertificates')
    expect(changes).toEqual([])
  })
})
