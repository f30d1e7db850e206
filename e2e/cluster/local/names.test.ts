import { describe, expect, it } from '@jest/globals'
import { clusterNames } from './names.js'

describe('clusterNames', () => {
  it('puts the name of the cluster into every name', () => {
    const { folder, kubeconfig, marker, cgroup, hostLink, lock } = clusterNames('dev')
    for (const name of [folder, kubeconfig, ...Object.values(marker), cgroup, hostLink, lock])
      expect(name).toContain('dev')
  })

  it('refuses names that are not part of a path or too long for a link', () => {
    for (const name of ['', '-a', 'a-', '../a', 'a/b', 'A', 'elevenchars'])
      expect(() => clusterNames(name)).toThrow(`"${name}" can't be the name`)
    // The kernel takes 15 characters.
    expect(clusterNames('ten-chars1').hostLink).toHaveLength(15)
  })
})
