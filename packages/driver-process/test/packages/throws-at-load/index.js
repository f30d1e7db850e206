throw new Error('the moon is not full')
