import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../lib/paths.mjs'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { ensureKubernetesPrograms, kubernetesVersion, linkerFlags } from './kubernetes-programs.mjs'
import { fromAssets } from './kubernetes.mjs'

const folder = temporaryFolders()
const goMod = readFileSync(join(root, 'tools/kubernetes/go.mod'), 'utf8')

describe('kubernetesVersion', () => {
  it('is what the tools module pins, together with the staging modules of that release', () => {
    const version = kubernetesVersion(goMod)
    const staging = new Set(
      [...goMod.matchAll(/^\s*(?:replace )?k8s\.io\/\S+ => k8s\.io\/\S+ v(\S+)$/gm)].map(([, found]) => found),
    )
    expect([...staging]).toEqual([version.replace(/^1\./, '0.')])
  })

  it('refuses a module that pins none', () => {
    expect(() => kubernetesVersion('module example\n')).toThrow('does not require a release of k8s.io/kubernetes')
  })
})

describe('linkerFlags', () => {
  it('stamp the version that clients ask for', () => {
    expect(linkerFlags('1.34.4')).toBe(
      '-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4 -X k8s.io/component-base/version.gitMajor=1 ' +
        '-X k8s.io/component-base/version.gitMinor=34 -X k8s.io/component-base/version.gitTreeState=clean',
    )
  })
})

describe('the cached API server', () => {
  it('is used when it calls itself by the pinned version', async () => {
    const version = kubernetesVersion(goMod)
    const name = `kubernetes-${version}-${process.platform}-${process.arch}`
    const cache = folder({ [`${name}/kube-apiserver`]: `#!/bin/sh\necho 'Kubernetes v${version}'\n` })
    chmodSync(join(cache, name, 'kube-apiserver'), 0o755)
    await expect(ensureKubernetesPrograms(['kube-apiserver'], cache)).resolves.toBe(join(cache, name))
  })
})

describe('KUBEBUILDER_ASSETS', () => {
  it('is used when it holds both programs', () => {
    const assets = folder({ etcd: '', 'kube-apiserver': '' })
    expect(fromAssets(assets)).toEqual({ etcd: join(assets, 'etcd'), apiServer: join(assets, 'kube-apiserver') })
  })

  it('is refused when it does not', () => {
    const assets = folder({ 'kube-apiserver': '' })
    expect(() => fromAssets(assets)).toThrow(`KUBEBUILDER_ASSETS=${assets} holds no ${join(assets, 'etcd')}`)
  })
})
