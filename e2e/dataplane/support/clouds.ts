import { join } from 'node:path'

import { packageIntegrity } from '@osm-ts/driver-process'

import { makeProviderPackage } from '../../../tools/images/provider-package.mjs'

/** Makes a package of an endpoints provider in a folder, fit for a list of providers. */
export async function providerPackage(
  folder: string,
  name: 'azure' | 'aws',
): Promise<{ readonly name: string; readonly path: string; readonly integrity: string }> {
  const path = join(folder, name)
  await makeProviderPackage(name, path)
  return { name, path, integrity: await packageIntegrity(path) }
}

/** Runs an instance at an address in EC2 as moto stands in for it; returns its ID. */
export async function runInstance(moto: string, region: string, app: string, address: string): Promise<string> {
  const ec2 = async (parameters: Readonly<Record<string, string>>): Promise<string> => {
    const response = await fetch(moto, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        // moto finds region and service in it and checks no signature.
        authorization: `AWS4-HMAC-SHA256 Credential=x/20260101/${region}/ec2/aws4_request, SignedHeaders=host, Signature=x`,
      },
      body: new URLSearchParams({ Version: '2016-11-15', ...parameters }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${parameters['Action'] ?? ''}: ${response.status} ${text}`)
    return text
  }
  const image = /<imageId>(.*?)<\/imageId>/.exec(await ec2({ Action: 'DescribeImages' }))?.[1] ?? ''
  const made = await ec2({
    Action: 'RunInstances',
    ImageId: image,
    MinCount: '1',
    MaxCount: '1',
    PrivateIpAddress: address,
    'TagSpecification.1.ResourceType': 'instance',
    'TagSpecification.1.Tag.1.Key': 'app',
    'TagSpecification.1.Tag.1.Value': app,
  })
  return /<instanceId>(.*?)<\/instanceId>/.exec(made)?.[1] ?? ''
}
