console.error('leaving with AKIAsecretsecretsecretsecretsecretsecretsecretsecret')
process.exit(3)
