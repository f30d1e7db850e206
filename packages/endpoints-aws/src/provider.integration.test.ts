import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  AutoScalingClient,
  CreateAutoScalingGroupCommand,
  DescribeAutoScalingGroupsCommand,
} from '@aws-sdk/client-auto-scaling'
import {
  CreateLaunchTemplateCommand,
  DescribeImagesCommand,
  EC2Client,
  RunInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { CustomResource, JsonObject, JsonValue } from '@osm-ts/endpoints-api'

import { checkProvider, customResource, RecordingHost } from '@osm-ts/endpoints-testkit'
import { FailingApi } from '../test/failing-api.js'
import { Moto } from '../test/moto.js'
import awsProvider from './index.js'

const region = 'eu-central-1'
const account = '123456789012'
const id = 'i-0123456789abcdef0'

function awsResource(name: string, ...resources: readonly JsonValue[]): CustomResource {
  return customResource('AwsResource', name, { service: name, serviceAccount: 'web-account', resources })
}

describe('endpoints provider aws', () => {
  let host: RecordingHost
  let folder: string
  let settings: JsonObject

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-aws-'))
  })

  beforeEach(async () => {
    host = new RecordingHost()
    await putKey('FIRSTKEY')
  })

  afterEach(async () => {
    await host.close()
    expect(host.everything()).not.toContain('secret-of-')
  })

  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  async function putKey(name: string): Promise<void> {
    const credential = { Version: 1, AccessKeyId: name, SecretAccessKey: `secret-of-${name}` }
    await writeFile(join(folder, 'credential.json'), JSON.stringify(credential))
  }

  async function started(endpoint: string, ...objects: readonly CustomResource[]): Promise<void> {
    settings = {
      regions: [{ name: region }],
      account,
      credentialFile: join(folder, 'credential.json'),
      endpoint,
      // Below what the schema takes, so that tests need not wait.
      intervalSeconds: 0.2,
    }
    host.setObjects(...objects)
    await host.start(awsProvider, settings)
    await host.nextAnswer()
  }

  describe('with moto', () => {
    let moto: Moto
    let ec2: EC2Client
    let autoScaling: AutoScalingClient
    let image: string

    beforeAll(async () => {
      moto = await Moto.start()
      const options = { region, endpoint: moto.url, credentials: { accessKeyId: 'x', secretAccessKey: 'x' } }
      ec2 = new EC2Client(options)
      autoScaling = new AutoScalingClient(options)
      const { Images } = await ec2.send(new DescribeImagesCommand({}))
      image = Images?.[0]?.ImageId ?? ''
    })

    afterAll(async () => {
      ec2.destroy()
      autoScaling.destroy()
      await moto.stop()
    })

    async function runInstances(count: number, app: string): Promise<readonly string[]> {
      const { Instances } = await ec2.send(
        new RunInstancesCommand({
          ImageId: image,
          MinCount: count,
          MaxCount: count,
          TagSpecifications: [{ ResourceType: 'instance', Tags: [{ Key: 'app', Value: app }] }],
        }),
      )
      return (Instances ?? []).map(({ InstanceId = '' }) => InstanceId)
    }

    it('resolves instances by ID and by ARN, each once', async () => {
      const [first = '', second = ''] = await runInstances(2, 'ids')
      const arn = `arn:aws:ec2:${region}:${account}:instance/${second}`
      await started(moto.url, awsResource('web', { instanceId: first }, { arn }, { instanceId: second }))
      const found = host.instancesOf('web')?.instances ?? []
      expect(found.map((each) => each.id)).toEqual([first, second].sort())
      expect(found[0]).toMatchObject({
        addresses: [expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/)],
        ready: true,
        serviceAccount: 'web-account',
        locality: { region, zone: expect.stringMatching(/^eu-central-1[a-z]$/), subZone: '' },
      })
      expect(host.calls[0]).toEqual(['DescribeInstances', 'ok'])
    })

    it('selects instances by tag, takes traffic from one that stops, and forgets one that is terminated', async () => {
      const [first = '', second = '', third = ''] = await runInstances(3, 'web*')
      await runInstances(1, 'web-other')
      await started(moto.url, awsResource('web', { tags: { app: 'web*' } }))
      expect(host.instancesOf('web')?.instances).toHaveLength(3)
      await ec2.send(new StopInstancesCommand({ InstanceIds: [first] }))
      await ec2.send(new TerminateInstancesCommand({ InstanceIds: [second] }))
      await host.until('one stopped, one gone', () => host.instancesOf('web')?.instances.length === 2)
      expect(host.instancesOf('web')?.instances.find((each) => each.id === first)?.ready).toBe(false)
      expect(host.instancesOf('web')?.instances.find((each) => each.id === third)?.ready).toBe(true)
    })

    it('resolves an auto-scaling group to its instances in service', async () => {
      await ec2.send(
        new CreateLaunchTemplateCommand({ LaunchTemplateName: 'web', LaunchTemplateData: { ImageId: image } }),
      )
      await autoScaling.send(
        new CreateAutoScalingGroupCommand({
          AutoScalingGroupName: 'web-group',
          LaunchTemplate: { LaunchTemplateName: 'web' },
          MinSize: 2,
          MaxSize: 2,
          AvailabilityZones: [`${region}a`],
        }),
      )
      const { AutoScalingGroups } = await autoScaling.send(new DescribeAutoScalingGroupsCommand({}))
      const arn = AutoScalingGroups?.[0]?.AutoScalingGroupARN ?? ''
      await started(moto.url, awsResource('web', { arn }, { autoScalingGroup: 'no-such-group' }))
      expect(host.instancesOf('web')?.instances.map(({ ready }) => ready)).toEqual([true, true])
      expect(host.reasonOf('AwsResource/shop/web')).toBe('NotFound')
    })
  })

  describe('with an API that fails', () => {
    let api: FailingApi

    beforeEach(async () => {
      api = await FailingApi.start()
    })

    afterEach(async () => {
      await host.close()
      await api.stop()
    })

    it('refuses a list that does not end', async () => {
      await started(api.url, awsResource('web', { tags: { app: 'web' } }))
      expect(host.reasonOf('AwsResource/shop/web')).toBe('TooManyPages')
      expect(host.calls.length % 100).toBe(0)
    })

    it('conforms to the contract of endpoints providers', async () => {
      const instance = { kind: 'instance', id, address: '10.0.0.1' } as const
      api.answer = instance
      const results = await checkProvider({
        plugin: awsProvider,
        settings: {
          regions: [{ name: region }],
          account,
          credentialFile: join(folder, 'credential.json'),
          endpoint: api.url,
        },
        overrides: { intervalSeconds: 0.2 },
        objects: [awsResource('web', { instanceId: id })],
        outage: {
          begin: async () => {
            api.answer = { kind: 'error', status: 401, code: 'AuthFailure' }
          },
          end: async () => {
            api.answer = instance
          },
        },
        secrets: ['secret-of-FIRSTKEY'],
      })
      expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([])
    })

    it('keeps the last good instances when its key is revoked, and takes a new one from the file', async () => {
      api.answer = { kind: 'instance', id, address: '10.0.0.1' }
      await started(api.url, awsResource('web', { instanceId: id }))
      api.answer = { kind: 'error', status: 401, code: 'AuthFailure' }
      await host.until('denied', () => host.reasonOf('AwsResource/shop/web') === 'AccessDenied')
      expect(host.instancesOf('web')).toMatchObject({
        instances: [{ addresses: ['10.0.0.1'] }],
        stale:
          'AwsResource web: AccessDenied: DescribeInstances was denied (401 AuthFailure); the identity needs the permission for it',
      })
      expect(host.healths.at(-1)).toMatchObject({ state: 'failing' })
      await putKey('SECONDKEY')
      api.answer = { kind: 'instance', id, address: '10.0.0.2' }
      await host.until('resolved', () => host.instancesOf('web')?.instances[0]?.addresses[0] === '10.0.0.2')
      await host.until('the new key', () => api.keys.has('SECONDKEY'))
    })

    it('leaves a region alone that throttles, for as long as it asks for', async () => {
      api.answer = { kind: 'error', status: 503, code: 'RequestLimitExceeded', headers: { 'retry-after': '100' } }
      await started(api.url, awsResource('web', { instanceId: id }))
      expect(host.reasonOf('AwsResource/shop/web')).toBe('Throttled')
      await host.nextAnswer()
      await host.nextAnswer()
      expect(api.calls).toBe(1)
      expect(host.calls).toEqual([['DescribeInstances', 'throttled']])
      expect(host.healths.at(-1)).toMatchObject({ message: expect.stringContaining('next attempt in 100 s') })
    })
  })
})
