import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { FakeMesh } from '../../test/fake-mesh.js'
import { proxyStatus } from '../../test/sample-view.js'
import { runMesh, type RunMeshOptions } from './run-mesh.js'

const folder = new URL('../../../../examples/bookstore/mesh', import.meta.url).pathname

describe('runMesh', () => {
  let mesh: FakeMesh
  beforeEach(async () => {
    mesh = await FakeMesh.open()
  })
  afterEach(() => mesh.close())

  function options(): RunMeshOptions {
    return {
      folder,
      shownFolder: 'mesh',
      stateFolder: '/nowhere/state',
      mode: 'explicit',
      sidecarBinaries: { envoy: '/envoy' },
      controllerProgram: '/controller.mjs',
      startMesh: mesh.start,
      now: () => Date.now(),
      variables: {},
    }
  }

  it('hands over a mesh that has converged, and ends it afterwards', async () => {
    const { context, stdout, stderr } = fakeContext()
    const result = await runMesh(context, options(), async ({ converged, observer }) => {
      expect(mesh.calls).toEqual(['start'])
      expect(converged.appliedAt).toBeGreaterThanOrEqual(converged.connectedAt)
      return observer.view()
    })
    expect(mesh.calls).toEqual(['start', 'stop'])
    expect(result).toMatchObject({
      folder: 'mesh',
      proxies: [{ state: 'applied' }],
      splits: [{ name: 'bookstore/bookstore-split', backends: [{ share: 0.75 }, { share: 0.25 }] }],
    })
    expect(mesh.options).toMatchObject({ mode: 'explicit', sidecarBinaries: { envoy: '/envoy' } })
    // Progress output is never mixed with results.
    expect(stdout.text).toBe('')
    expect(stderr.text).toMatch(
      /Starting the controller: done[^]+configuring sidecars: done[^]+Stopping workloads[^]+done/,
    )
  })

  it('ends the mesh when the work with it fails', async () => {
    const { context } = fakeContext()
    const work = runMesh(context, options(), () => Promise.reject(new Error('broken')))
    await expect(work).rejects.toThrow('broken')
    expect(mesh.calls).toEqual(['start', 'stop'])
  })

  it('shows the reason a mesh did not get ready, with what its processes said last', async () => {
    mesh.ready = () => {
      mesh.options?.onEvent({
        type: 'output',
        instance: 'shop-0',
        namespace: 'store',
        stream: 'stderr',
        line: 'no such file',
      })
      return Promise.reject(new Error('workload shop did not start'))
    }
    const { context, stderr } = fakeContext()
    await expect(runMesh(context, options(), () => Promise.resolve())).rejects.toThrow('workload shop did not start')
    expect(stderr.text).toContain('configuring sidecars: failed')
    expect(stderr.text).toContain('  shop-0: no such file\n')
    expect(mesh.calls).toEqual(['start', 'stop'])
  })

  it('does not wait for a mesh that the user no longer wants', async () => {
    mesh.statuses = [proxyStatus('shop-0', 'store', 'shop', { state: 'unknown' })]
    mesh.ready = () => new Promise(() => undefined)
    const user = new AbortController()
    const { context } = fakeContext({ signal: user.signal })
    const work = runMesh(context, { ...options(), onEvent: () => user.abort() }, () => Promise.resolve('worked'))
    expect(await work).toBeUndefined()
    expect(mesh.calls).toEqual(['start', 'stop'])
  })

  it('says so when the mesh cannot be ended cleanly', async () => {
    mesh.stop = () => Promise.reject(new Error('process 4711 does not end'))
    const { context, stderr } = fakeContext()
    await expect(runMesh(context, options(), () => Promise.resolve())).rejects.toThrow('process 4711 does not end')
    expect(stderr.text).toContain('Stopping workloads, sidecars and controller: failed')
  })
})
