import { describe, expect, it } from '@jest/globals'
import { packagesLackedBy } from './cluster-programs.mjs'

const all = { containerd: '/usr/bin/containerd', ctr: '/usr/bin/ctr', runc: '/usr/bin/runc', plugins: '/usr/lib/cni' }

describe('packagesLackedBy', () => {
  it('names nothing where everything is there, wherever it came from', () => {
    expect(packagesLackedBy(all)).toEqual([])
  })

  it('names only the packages whose programs are missing', () => {
    expect(packagesLackedBy({ ...all, plugins: undefined })).toEqual(['containernetworking-plugins'])
    expect(packagesLackedBy({ ...all, ctr: undefined })).toEqual(['containerd'])
    expect(packagesLackedBy({})).toEqual(['containerd', 'runc', 'containernetworking-plugins'])
  })
})
