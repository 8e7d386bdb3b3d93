PREFIX = "tapediff_"
def address_of(s): raise NotImplementedError
