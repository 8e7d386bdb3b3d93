"""Programs as people of different trades write them: each maps a vector of readings to one number."""

import textwrap

from .program import Program, points_of


def normal(size, scale=1.0):
    """Return a function that draws normal vectors."""
    return lambda rng: rng.normal(size=size) * scale


def uniform(size, low=0.0, high=1.0):
    """Return a function that draws uniform vectors."""
    return lambda rng: rng.uniform(low, high, size=size)


# Name, function that draws a point, text.
TRADES = (
    ("pharmacist", uniform(16), '''
        """Plan doses of a drug with a narrow window: skip, halve or give in full, and flush when levels become toxic."""
        import numpy as np


        class Toxic(Exception):
            def __init__(self, level):
                super().__init__("toxic level")
                self.level = level


        class Patient:
            def __init__(self, weight, clearance):
                self.weight = weight
                self.clearance = clearance
                self.plasma = 0.0
                self.tissue = 0.0
                self.log = []

            def give(self, milligrams):
                self.plasma += milligrams / self.weight
                if self.plasma > 2.2:
                    raise Toxic(self.plasma)
                self.log.append(milligrams)

            def hours(self, n):
                for _ in range(n):
                    flow = 0.2 * self.plasma - 0.1 * self.tissue
                    self.plasma -= self.clearance * self.plasma + flow
                    self.tissue += flow


        def f(x):
            patient = Patient(0.7 + 0.6 * x[0], 0.05 + 0.15 * x[1])
            burden = 0.0
            for appetite in x[2:]:
                dose = 0.6 + 0.5 * appetite
                if patient.plasma > 1.4:
                    dose = 0.0
                elif patient.plasma > 0.9:
                    dose *= 0.5
                if dose:
                    try:
                        patient.give(dose)
                    except Toxic as problem:
                        burden += (problem.level - 2.2) ** 2 + 0.3
                        patient.plasma = 1.0
                patient.hours(3)
            return patient.plasma + 0.5 * patient.tissue + burden + 0.01 * sum(patient.log)
    '''),
    ("hydrologist", uniform(30), '''
        """A snow and soil bucket: degree days, field capacity, quick and slow runoff."""


        def melt(snow, temperature, factor):
            if temperature <= 0.0 or snow == 0.0:
                return 0.0
            return min(snow, factor * temperature)


        def f(x):
            factor = 0.2 + 0.4 * x[0]
            capacity = 1.0 + 2.0 * x[1]
            rain, warm = x[2:16], 8.0 * x[16:] - 3.0
            snow, soil, ground = 0.0, 0.5 * capacity, 0.2
            flows = []
            for p, t in zip(rain, warm):
                if t < 0.0:
                    snow += p
                    water = 0.0
                else:
                    water = p
                m = melt(snow, t, factor)
                snow -= m
                soil += water + m
                quick = 0.0
                if soil > capacity:
                    quick = soil - capacity
                    soil = capacity
                if t > 2.0:
                    soil -= min(soil, 0.04 * t * soil / capacity)
                leak = 0.1 * soil
                soil -= leak
                ground += leak
                slow = 0.05 * ground if ground < 1.0 else 0.05 + 0.3 * (ground - 1.0)
                ground -= slow
                flows.append(quick + slow)
            peak = max(flows)
            dry = [q for q in flows if q < 0.05]
            return peak + 0.2 * sum(flows) + (0.5 * sum(dry) / len(dry) if dry else 0.0)
    '''),
    ("actuary", uniform(20), '''
        """Reserve of a book of policies with lapses, deductibles and a stop-loss cover of the whole book."""
        from dataclasses import dataclass
        import numpy as np


        @dataclass
        class Policy:
            age: int
            premium: float
            deductible: float
            active: bool = True
            bonus: int = 0

            def settle(self, claim):
                if not self.active:
                    return 0.0
                if claim <= self.deductible:
                    self.bonus = min(self.bonus + 1, 3)
                    return 0.0
                self.bonus = max(self.bonus - 2, 0)
                return claim - self.deductible


        def f(x):
            discount = 1.0 / (1.0 + 0.1 * x[0])
            stop_loss = 1.2 + x[1]
            book = [Policy(30 + 9 * i, 0.3 + 0.1 * x[2 + i], 0.4 + 0.2 * x[5 + i]) for i in range(3)]
            reserve, paid = 0.0, 0.0
            for year, claims in enumerate(x[8:].reshape(4, 3)):
                factor = discount ** year
                for policy, claim in zip(book, claims):
                    due = policy.settle(1.3 * claim)
                    if paid + due > stop_loss:
                        due = max(stop_loss - paid, 0.0) + 0.1 * (paid + due - stop_loss)
                    paid += due
                    income = policy.premium * (1.0 - 0.1 * policy.bonus) if policy.active else 0.0
                    reserve += factor * (due - income)
                    if due > 0.6 and policy.age > 35:
                        policy.active = False
            return reserve + 0.1 * sum(p.deductible for p in book if p.active)
    '''),
    ("grid_operator", uniform(24), '''
        """Dispatch plants in order of cost, with minimum loads, ramps and lost load."""
        import numpy as np


        def f(x):
            plants = [
                {"name": "wind", "cost": 0.05 * x[0], "cap": 0.8 * x[1], "min": 0.0, "on": True, "last": 0.0},
                {"name": "coal", "cost": 0.3 + 0.3 * x[2], "cap": 1.0, "min": 0.3, "on": True, "last": 0.5},
                {"name": "gas", "cost": 0.3 + 0.5 * x[3], "cap": 0.7, "min": 0.1, "on": False, "last": 0.0},
            ]
            order = sorted(plants, key=lambda p: p["cost"])
            bill = 0.0
            for load in 2.2 * x[4:]:
                rest = load
                for plant in order:
                    if rest <= 0.0:
                        if plant["on"] and plant["min"] > 0.0:
                            bill += 0.02 * plant["cost"]
                        plant["last"] = 0.0
                        continue
                    if rest < plant["min"]:
                        plant["on"] = False
                        plant["last"] = 0.0
                        continue
                    if not plant["on"]:
                        bill += 0.05
                        plant["on"] = True
                    power = min(rest, plant["cap"])
                    if plant["name"] == "coal" and power > plant["last"] + 0.4:
                        power = plant["last"] + 0.4
                    bill += plant["cost"] * power + 0.02 * power ** 2
                    plant["last"] = power
                    rest -= power
                if rest > 0.0:
                    bill += 3.0 * rest
            return bill / 20.0
    '''),
    ("structural_engineer", uniform(12), '''
        """Check beams against buckling and bending, and pick the lightest section of a table that holds."""
        import math

        SECTIONS = [("S", 1.0, 0.8, 0.5), ("M", 1.5, 1.4, 1.1), ("L", 2.4, 2.6, 2.4), ("XL", 4.0, 5.0, 5.5)]


        def utilisation(force, moment, length, section):
            _, area, modulus, inertia = section
            critical = math.pi ** 2 * inertia / length ** 2
            squash = 4.0 * area
            slenderness = (squash / critical) ** 0.5
            if slenderness < 0.5:
                chi = 1.0
            elif slenderness < 1.5:
                chi = 1.0 - 0.5 * (slenderness - 0.5)
            else:
                chi = 1.125 / slenderness ** 2
            return force / (chi * squash) + moment / (3.0 * modulus)


        def pick(force, moment, length):
            for section in SECTIONS:
                u = utilisation(force, moment, length, section)
                if u <= 1.0:
                    return section, u
            return None, u


        def f(x):
            mass, worst = 0.0, 0.0
            for force, moment, length in x.reshape(-1, 3):
                section, u = pick(0.5 + 5.0 * force, 3.0 * moment, 0.6 + 2.0 * length)
                if section is None:
                    mass += 6.0 + (u - 1.0) * 3.0
                    continue
                mass += section[1] * (0.6 + 2.0 * length)
                worst = max(worst, u)
            return mass + worst
    '''),
    ("baker", uniform(18), '''
        """Proof dough until it has doubled, bake it in an oven that overshoots, and price the loaves by colour."""


        def proof(sugar, warmth):
            volume, hours = 1.0, 0
            while volume < 2.0:
                growth = 0.12 * sugar * (warmth if warmth < 0.8 else 1.6 - warmth)
                volume *= 1.0 + growth
                sugar *= 0.95
                hours += 1
                if hours >= 10:
                    break
            return volume, hours


        def f(x):
            oven, heating, income = 0.6 + 0.3 * x[0], True, 0.0
            prices = {"pale": 0.6 + x[1], "golden": 1.5 + x[1], "burnt": 0.1}
            for sugar, warmth in x[2:].reshape(-1, 2):
                volume, hours = proof(0.8 + sugar, 0.4 + 0.7 * warmth)
                if hours == 10:
                    income += 0.2 * volume
                    continue
                colour = 0.0
                for _ in range(5):
                    oven += 0.06 if heating else -0.05
                    if oven > 0.95:
                        heating = False
                    elif oven < 0.8:
                        heating = True
                    colour += max(0.0, oven - 0.6) * (0.5 + 0.5 * sugar)
                kind = "pale" if colour < 0.7 else "golden" if colour < 1.2 else "burnt"
                income += prices[kind] * volume - 0.1 * colour
            return income
    '''),
    ("ecologist", normal(14), '''
        """Lynx and hare with refuges, harvest seasons and local extinction."""
        import numpy as np


        def f(x):
            hare, lynx = 1.0 + 0.3 * np.tanh(x[0]), 0.4 + 0.2 * np.tanh(x[1])
            quota = 0.1 * abs(x[2])
            caught = 0.0
            extinct = False
            for year, weather in enumerate(x[3:]):
                for season in ("spring", "summer", "winter"):
                    exposed = hare - 0.3 if hare > 0.3 else 0.0
                    eaten = min(0.5 * exposed * lynx, 0.8 * exposed)
                    hare -= eaten
                    if season == "spring":
                        hare += (0.8 + 0.3 * weather) * hare * (1.0 - hare / 3.0)
                    elif season == "summer":
                        lynx += 0.6 * eaten
                    else:
                        lynx *= 0.85 if weather > -1.0 else 0.6
                        hare *= 0.9
                    if hare < 0.05:
                        hare = 0.05
                if lynx < 0.08:
                    lynx, extinct = 0.0, True
                    break
                if year % 2 == 0 and hare > 1.0:
                    take = min(quota, hare - 1.0)
                    hare -= take
                    caught += take
            return hare + lynx + 2.0 * caught - (0.5 * hare if extinct else 0.0)
    '''),
    ("trader", normal(30), '''
        """A crossing of moving averages with stop loss, trailing stop and fees."""
        from collections import deque


        class Position:
            def __init__(self, side, price):
                self.side, self.entry, self.best = side, price, price

            def update(self, price):
                if self.side * (price - self.best) > 0:
                    self.best = price

            def stopped(self, price, loss, trail):
                return self.side * (self.entry - price) > loss or self.side * (self.best - price) > trail


        def f(x):
            fee, loss, trail = 0.01 * x[0] ** 2, 0.5 + abs(x[1]), 0.8 + abs(x[2])
            price, cash, position = 10.0, 0.0, None
            fast, slow = deque(maxlen=3), deque(maxlen=7)
            trades = 0
            for move in x[3:]:
                price += 0.5 * move
                fast.append(price)
                slow.append(price)
                if len(slow) < 7:
                    continue
                signal = sum(fast) / 3 - sum(slow) / 7
                if position is not None:
                    position.update(price)
                    if position.stopped(price, loss, trail) or signal * position.side < -0.2:
                        cash += position.side * (price - position.entry) - fee
                        position = None
                        trades += 1
                elif abs(signal) > 0.3:
                    position = Position(1 if signal > 0 else -1, price)
            if position:
                cash += position.side * (price - position.entry)
            return cash - 0.01 * trades
    '''),
    ("logistics_planner", uniform(18), '''
        """Nearest-neighbour round trip with a van that must go back to the depot when it is full."""
        import math


        def distance(a, b):
            return math.hypot(a[0] - b[0], a[1] - b[1])


        def f(x):
            stops = {i: (x[3 * i], x[3 * i + 1], 0.2 + 0.6 * x[3 * i + 2]) for i in range(6)}
            depot = (0.5, 0.5, 0.0)
            here, load, length, returns = depot, 0.0, 0.0, 0
            todo = set(stops)
            while todo:
                nearest = min(sorted(todo), key=lambda i: distance(here, stops[i]))
                need = stops[nearest][2]
                if load + need > 1.4:
                    length += distance(here, depot)
                    here, load = depot, 0.0
                    returns += 1
                    continue
                length += distance(here, stops[nearest])
                load += need
                here = stops[nearest]
                todo.remove(nearest)
            return length + distance(here, depot) + 0.05 * returns
    '''),
    ("epidemiologist", uniform(21), '''
        """SEIR with a lockdown that starts and ends at thresholds, weekends, and hospital beds that run out."""


        def f(x):
            contact, recover, start = 0.8 + 1.5 * x[0], 0.2 + 0.2 * x[1], 0.02 + 0.05 * x[2]
            s, e, i, r, dead = 0.97 - start, 0.0, start, 0.0, 0.0
            lockdown, days_locked = False, 0
            for day, noise in enumerate(x[3:]):
                beta = contact * (0.8 + 0.4 * noise)
                if day % 7 in (5, 6):
                    beta *= 0.7
                if lockdown:
                    beta *= 0.35
                    days_locked += 1
                    if i < 0.06 and days_locked >= 3:
                        lockdown = False
                elif i > 0.12:
                    lockdown, days_locked = True, 0
                new, sick, well = beta * s * i, 0.5 * e, recover * i
                s, e, i, r = s - new, e + new - sick, i + sick - well, r + well
                beds = 0.15
                if i > beds:
                    lost = 0.2 * (i - beds)
                    i -= lost
                    dead += lost
            return r + 10.0 * dead + 0.02 * days_locked * contact
    '''),
    ("game_developer", normal(24), '''
        """A turn-based fight with shields, potions, critical hits and a monster that becomes angry."""


        class Fighter:
            def __init__(self, health, attack, shield=0.0):
                self.health, self.attack, self.shield = health, attack, shield

            @property
            def alive(self):
                return self.health > 0

            def hit(self, damage):
                if self.shield > 0:
                    absorbed = min(self.shield, damage)
                    self.shield -= absorbed
                    damage -= absorbed
                self.health -= damage


        class Hero(Fighter):
            potions = 2

            def act(self, other, luck):
                if self.health < 2.0 and self.potions > 0:
                    self.potions -= 1
                    self.health += 1.5 + 0.2 * luck
                else:
                    other.hit(self.attack * (2.0 if luck > 1.0 else 1.0) + 0.2 * luck)


        class Monster(Fighter):
            angry = False

            def act(self, other, luck):
                if luck < -1.2:
                    return
                other.hit(self.attack * (1.5 if self.angry else 1.0) + 0.1 * luck)

            def hit(self, damage):
                super().hit(damage)
                if damage > 1.3:
                    self.angry = True


        def f(x):
            hero, monster = Hero(4.0 + 0.3 * x[0], 0.9, 0.5), Monster(7.0 + 0.5 * x[1], 0.6 + 0.1 * abs(x[2]))
            score = 0.0
            for turn, luck in enumerate(x[3:]):
                actor, other = (hero, monster) if turn % 2 == 0 else (monster, hero)
                actor.act(other, luck)
                if not other.alive:
                    score = 1.0 if actor is hero else -1.0
                    break
            return score * (1.0 + 0.1 * abs(hero.health)) + hero.health - 0.3 * monster.health + 0.1 * hero.potions
    '''),
    ("astronomer", normal(25), '''
        """Sigma-clipped mean of a light curve, dips below it, and the longest of these."""
        import numpy as np


        def clipped(values, sigmas, rounds=3):
            keep = list(values)
            for _ in range(rounds):
                mean = sum(keep) / len(keep)
                spread = (sum((v - mean) ** 2 for v in keep) / len(keep)) ** 0.5
                inside = [v for v in keep if abs(v - mean) < sigmas * spread]
                if len(inside) == len(keep) or len(inside) < 3:
                    break
                keep = inside
            return mean, spread


        def f(x):
            mean, spread = clipped(x, 1.8)
            dips, current = [], []
            for value in x:
                if value < mean - 0.4 * spread:
                    current.append(mean - value)
                elif current:
                    dips.append(current)
                    current = []
            if current:
                dips.append(current)
            if not dips:
                return mean
            longest = max(dips, key=len)
            deepest = max(max(d) for d in dips)
            return mean + sum(longest) / len(longest) + 0.1 * deepest ** 2 + 0.01 * len(dips)
    '''),
    ("chemist", uniform(9), '''
        """Titrate a weak acid in drops until the colour turns, then find the pH by bisection."""
        import math


        def charge(h, acid, base, ka):
            return h + base - 1e-2 / h * 1e-2 - acid * ka / (ka + h)


        def acidity(acid, base, ka):
            low, high = 1e-4, 2.0
            for _ in range(40):
                middle = math.sqrt(low * high)
                if charge(middle, acid, base, ka) > 0.0:
                    high = middle
                else:
                    low = middle
            # One step of Newton's method, which gives the derivative that bisection has not.
            h, d = middle, 1e-6
            slope = 1.0 + 1e-4 / h ** 2 + acid * ka / (ka + h) ** 2
            return h - charge(h, acid, base, ka) / slope


        def f(x):
            acid, ka, drop = 0.5 + x[0], 0.02 + 0.1 * x[1], 0.1 + 0.1 * x[2]
            base, drops = 0.0, 0
            while drops < 15:
                h = acidity(acid, base, ka)
                if h < 0.02 + 0.03 * x[3]:
                    break
                base += drop * (1.0 if h > 0.1 else 0.5)
                drops += 1
            colour = "clear" if h > 0.05 else "pink" if h > 0.02 else "red"
            tint = {"clear": 0.0, "pink": x[4], "red": x[5] ** 2}
            return base - 0.3 * math.log(h) + tint[colour] + x[6] * x[7] * x[8]
    '''),
    ("machinist", uniform(16), '''
        """Rough and finish passes on a lathe: depth of cut by tool wear, tool changes, chatter."""


        def f(x):
            diameter, target = 5.0 + x[0], 3.6 + 0.4 * x[1]
            wear, changes, time, passes = 0.0, 0, 0.0, 0
            hardness = iter(0.5 + x[2:])
            while diameter > target + 1e-9:
                hard = next(hardness, 1.0)
                left = diameter - target
                if left > 0.5:
                    depth = 0.35 / (1.0 + wear)
                    feed = 1.0 / hard
                else:
                    depth = min(left, 0.12)
                    feed = 0.4
                if depth * hard > 0.3:
                    depth *= 0.7
                    time += 0.1 * hard
                diameter -= depth
                time += 1.0 / (1.0 + feed)
                wear += 0.3 * depth * hard
                passes += 1
                if wear > 0.4:
                    wear, changes = 0.0, changes + 1
                    time += 0.5
                if passes >= 25:
                    break
            return time + 0.1 * wear + 0.2 * (diameter - target) ** 2 + 0.3 * changes
    '''),
    ("beekeeper", uniform(22), '''
        """A hive over the weeks of a season: nectar flow, swarming, robbing, harvest of full supers."""
        from dataclasses import dataclass, field


        @dataclass
        class Hive:
            bees: float
            honey: float
            supers: list = field(default_factory=lambda: [0.0])
            swarmed: bool = False

            def store(self, nectar):
                for k, filled in enumerate(self.supers):
                    room = 1.0 - filled
                    if room <= 0.0:
                        continue
                    put = min(room, nectar)
                    self.supers[k] += put
                    nectar -= put
                    if nectar <= 0.0:
                        return
                self.honey += 0.5 * nectar


        def f(x):
            hive = Hive(0.5 + x[0], 0.3 + 0.3 * x[1])
            harvest = 0.0
            for week, bloom in enumerate(x[2:]):
                flow = bloom * hive.bees * (0.6 if week % 5 == 4 else 0.3)
                if flow > 0.25:
                    hive.store(flow)
                else:
                    hive.honey += flow - 0.12 * hive.bees
                if hive.honey < 0.0:
                    hive.bees *= 0.8
                    hive.honey = 0.05
                hive.bees += 0.12 * hive.bees * (bloom - 0.3)
                if hive.bees > 1.6 and not hive.swarmed:
                    hive.bees *= 0.55
                    hive.swarmed = True
                if hive.supers[-1] > 0.85:
                    if len(hive.supers) < 3:
                        hive.supers.append(0.0)
                    else:
                        harvest += hive.supers.pop(0)
            return harvest + sum(hive.supers) + 0.3 * hive.honey + 0.1 * hive.bees
    '''),
    ("traffic_engineer", uniform(26), '''
        """A crossing with two approaches: actuated green, extension, all-red, and queues that spill back."""


        def f(x):
            north, east = 0.0, 0.0
            green, held, delay, spilled = "north", 0, 0.0, 0.0
            longest = 2 + int(x[0] > 0.5)
            for a, b in x[2:].reshape(-1, 2):
                north += 1.1 * a
                east += 0.9 * b
                if green == "north":
                    out = min(north, 1.0)
                    north -= out
                    held += 1
                    if north == 0.0 or (held >= longest and east > 0.5 * north):
                        green, held = "red to east", 0
                elif green == "east":
                    out = min(east, 0.9)
                    east -= out
                    held += 1
                    if east == 0.0 or (held >= longest and north > 0.5 * east):
                        green, held = "red to north", 0
                else:
                    green = green.removeprefix("red to ")
                for queue in (north, east):
                    if queue > 2.0 + x[1]:
                        spilled += (queue - 2.0 - x[1]) ** 2
                delay += north + east
            return delay / 12.0 + spilled
    '''),
    ("insurer", uniform(20), '''
        """Bonus-malus classes of drivers, with rules for total losses, glass and repeated claims."""

        CLASSES = {0: 1.4, 1: 1.0, 2: 0.8, 3: 0.65, 4: 0.5}


        def next_class(current, claims):
            if not claims:
                return min(current + 1, 4)
            return max(current - 2 * len(claims), 0)


        def payout(claim, excess):
            kind, amount = claim
            if kind == "glass":
                return amount
            if kind == "total":
                return 0.9 * amount
            return max(amount - excess, 0.0)


        def f(x):
            base, excess = 0.5 + x[0], 0.2 + 0.3 * x[1]
            bonus, balance = 2, 0.0
            for quarter in x[2:].reshape(6, 3):
                claims = []
                for severity in quarter:
                    if severity > 0.92:
                        claims.append(("total", 2.0 * severity))
                    elif severity > 0.75:
                        claims.append(("body", severity))
                    elif 0.4 < severity < 0.45:
                        claims.append(("glass", 0.3 * severity))
                balance += base * CLASSES[bonus]
                balance -= sum(payout(c, excess) for c in claims)
                if len(claims) >= 2:
                    balance += 0.1 * sum(amount for _, amount in claims)
                bonus = next_class(bonus, claims)
            return balance + 0.05 * bonus * base
    '''),
    ("audio_engineer", normal(40), '''
        """A compressor with attack and release, a noise gate with hold, and a soft clipper."""
        import numpy as np


        def f(x):
            threshold, ratio, gate = 0.8 + 0.2 * x[0], 2.0 + x[1] ** 2, 0.3 + 0.05 * x[2]
            envelope, hold, is_open = 0.0, 0, False
            out = []
            for sample in x[4:]:
                level = abs(sample)
                rate = 0.6 if level > envelope else 0.15
                envelope += rate * (level - envelope)
                if envelope > gate:
                    is_open, hold = True, 4
                elif hold > 0:
                    hold -= 1
                else:
                    is_open = False
                if not is_open:
                    out.append(0.1 * sample)
                    continue
                gain = 1.0
                if envelope > threshold:
                    gain = (threshold + (envelope - threshold) / ratio) / envelope
                y = gain * sample
                if y > 1.0:
                    y = 1.0 + np.tanh(y - 1.0) / 3.0
                elif y < -1.0:
                    y = -1.0 + np.tanh(y + 1.0) / 3.0
                out.append(y)
            crossings = sum(1 for a, b in zip(out, out[1:]) if a * b < 0)
            return sum(v * v for v in out) / len(out) + 0.01 * crossings * x[3]
    '''),
    ("robotics", normal(20), '''
        """A wall-following robot: sensors, a stack of behaviours, bumps and a battery."""
        import math


        def f(x):
            px, py, heading, battery = 0.0, 0.5 + 0.1 * x[0], 0.3 * x[1], 6.0
            behaviours = ["follow"]
            bumps, travelled = 0, 0.0
            for noise in x[2:]:
                wall = 1.0 + 0.3 * math.sin(px)
                gap = wall - py
                doing = behaviours[-1]
                if doing == "follow":
                    if gap < 0.15:
                        behaviours.append("escape")
                        bumps += 1
                    elif gap > 1.0:
                        behaviours.append("search")
                    turn = 0.6 * (gap - 0.4)
                elif doing == "escape":
                    turn = -0.8
                    if gap > 0.4:
                        behaviours.pop()
                else:
                    turn = 0.5
                    if gap < 0.7:
                        behaviours.pop()
                heading += turn + 0.2 * noise
                heading = max(-1.2, min(1.2, heading))
                speed = 0.3 if battery > 2.0 else 0.15
                px += speed * math.cos(heading)
                py += speed * math.sin(heading)
                if py > wall:
                    py = wall - 0.05
                    battery -= 0.3
                battery -= 0.2 + 0.1 * abs(turn)
                travelled += speed
                if battery <= 0.0:
                    break
            return px + py ** 2 + 0.1 * bumps + 0.2 * battery + 0.05 * travelled + 0.1 * len(behaviours)
    '''),
    ("farmer", uniform(32), '''
        """Irrigate when the soil is dry and no rain is forecast; frost and pests cost yield; harvest when ripe."""


        def f(x):
            capacity = 1.0 + x[0]
            days = [{"rain": r, "sun": s} for r, s in x[2:].reshape(15, 2)]
            soil, growth, water, harvested = 0.5 * capacity, 0.0, 0.0, None
            stage = "seed"
            for n, day in enumerate(days):
                forecast = sum(d["rain"] for d in days[n + 1 : n + 3])
                soil += 0.4 * day["rain"]
                if soil < 0.35 * capacity and forecast < 0.9:
                    given = 0.6 * capacity - soil
                    soil += given
                    water += given
                soil = min(soil, capacity)
                soil -= 0.25 * day["sun"] * soil
                if stage == "seed" and soil > 0.4 and day["sun"] > 0.3:
                    stage = "leaf"
                elif stage == "leaf":
                    growth += 0.3 * day["sun"] * min(soil, 0.8)
                    if day["sun"] < 0.08:
                        growth *= 0.7
                    if growth > 0.6 + 0.3 * x[1]:
                        stage = "ripe"
                elif stage == "ripe":
                    if day["rain"] < 0.5:
                        harvested = growth * (1.0 - 0.02 * n)
                        break
                    growth *= 0.95
            income = harvested if harvested is not None else 0.3 * growth
            return 3.0 * income - 0.5 * water + 0.1 * soil
    '''),
    ("hvac", normal(24), '''
        """Two zones that share one air handler: dead bands, priorities, defrost, night setback."""
        from enum import Enum


        class Mode(Enum):
            OFF = 0
            HEAT = 1
            COOL = 2
            DEFROST = 3


        class Zone:
            def __init__(self, name, setpoint, leak):
                self.name, self.setpoint, self.leak = name, setpoint, leak
                self.temperature = setpoint

            def demand(self, band):
                off = self.temperature - self.setpoint
                if off < -band:
                    return Mode.HEAT
                return Mode.COOL if off > band else Mode.OFF


        def f(x):
            zones = [Zone("office", 20.0 + x[0], 0.2), Zone("shop", 19.0 + x[1], 0.3)]
            band, ice, energy = 0.4 + 0.2 * abs(x[2]), 0.0, 0.0
            mode = Mode.OFF
            for hour, outside in enumerate(x[3:]):
                night = hour % 8 >= 6
                for zone in zones:
                    zone.temperature += zone.leak * (20.0 + 6.0 * outside - zone.temperature)
                wishes = [z.demand(2.0 * band if night else band) for z in zones]
                if ice > 0.9:
                    mode = Mode.DEFROST
                elif Mode.HEAT in wishes:
                    mode = Mode.HEAT
                elif Mode.COOL in wishes:
                    mode = Mode.COOL
                else:
                    mode = Mode.OFF
                if mode is Mode.DEFROST:
                    ice = 0.0
                    energy += 0.3
                    continue
                for zone, wish in zip(zones, wishes):
                    if wish is mode and mode is not Mode.OFF:
                        push = 0.5 * (zone.setpoint - zone.temperature)
                        zone.temperature += push
                        energy += abs(push)
                        if mode is Mode.HEAT:
                            ice += 0.15 * abs(push)
            return energy + sum((z.temperature - z.setpoint) ** 2 for z in zones) + ice
    '''),
    ("elevator_control", uniform(20), '''
        """A lift that serves calls with the elevator algorithm, and people who walk after waiting for too long."""


        def f(x):
            calls = sorted((3.0 * t, 6.0 * floor) for t, floor in x[2:].reshape(9, 2))
            clock, position, direction = 0.0, 3.0 * x[0], 1
            waiting, waits, walked = [], [], 0
            patience = 2.0 + 2.0 * x[1]
            while calls or waiting:
                while calls and calls[0][0] <= clock:
                    waiting.append(calls.pop(0))
                if not waiting:
                    clock = calls[0][0]
                    continue
                ahead = [c for c in waiting if direction * (c[1] - position) >= 0]
                if not ahead:
                    direction = -direction
                    continue
                target = min(ahead, key=lambda c: abs(c[1] - position))
                clock += 0.3 * abs(target[1] - position) + 0.2
                position = target[1]
                waiting.remove(target)
                wait = clock - target[0]
                if wait > patience:
                    walked += 1
                    waits.append(patience)
                else:
                    waits.append(wait)
            return sum(w * w for w in waits) / len(waits) + 0.3 * walked + 0.1 * position
    '''),
    ("radiation_shielding", uniform(14), '''
        """Rays through layers of shielding, build-up factors by depth, and the layer at which a ray is absorbed."""
        import numpy as np

        MATERIALS = {"lead": (1.2, 0.3), "water": (0.3, 0.9), "concrete": (0.6, 0.6)}


        def attenuate(energy, layers):
            depth, dose = 0.0, energy
            for name, thickness in layers:
                mu, scatter = MATERIALS[name]
                if energy > 0.8 and name != "lead":
                    mu *= 0.8
                path = mu * thickness
                dose *= np.exp(-path)
                depth += path
                if depth > 1.0:
                    dose *= 1.0 + scatter * (depth - 1.0)
                    if depth > 2.5:
                        return dose, name
            return dose, None


        def f(x):
            layers = [("water", 1.5 * x[0]), ("concrete", 2.0 * x[1]), ("lead", 1.0 * x[2]), ("water", x[3])]
            if x[1] > 0.7:
                layers.insert(1, ("lead", 0.3 * x[1]))
            total, absorbed = 0.0, {}
            for energy in 0.3 + x[4:]:
                dose, stopped = attenuate(energy, layers)
                if stopped:
                    absorbed[stopped] = absorbed.get(stopped, 0.0) + energy - dose
                total += dose
            return total + 0.1 * sum(v ** 2 for v in absorbed.values()) + 0.05 * len(absorbed)
    '''),
    ("tax_clerk", uniform(15), '''
        """Income tax of households: brackets, allowances that fade out, minimum tax, filing jointly if cheaper."""

        BRACKETS = [(0.3, 0.0), (0.8, 0.15), (1.5, 0.3), (float("inf"), 0.45)]


        def tax(income, allowance=0.1):
            if income > 1.2:
                allowance = max(0.0, allowance - 0.2 * (income - 1.2))
            taxable = income - allowance
            if taxable <= 0:
                return 0.0
            due, floor = 0.0, 0.0
            for ceiling, rate in BRACKETS:
                if taxable < ceiling:
                    return due + rate * (taxable - floor)
                due += rate * (ceiling - floor)
                floor = ceiling


        def f(x):
            revenue, surcharge = 0.0, 0.0
            for first, second, children in x.reshape(-1, 3):
                a, b = 2.0 * first, 1.5 * second
                if b < 0.1:
                    b = 0.0
                kids = 0 if children < 0.4 else 1 if children < 0.75 else 2
                alone = tax(a, 0.1 + 0.08 * kids) + tax(b)
                joint = 2.0 * tax(0.5 * (a + b), 0.1 + 0.05 * kids)
                due = min(alone, joint)
                if a + b > 2.0 and due < 0.25 * (a + b):
                    due = 0.25 * (a + b)
                elif kids and due == 0.0:
                    due = -0.05 * kids * (1.0 - a)
                revenue += due
                if due > 0.5:
                    surcharge += 0.055 * (due - 0.5)
            return revenue + surcharge
    '''),
    ("election_statistics", uniform(24), '''
        """Seats by D'Hondt in districts, a national threshold, and the value of a seat in votes."""
        import numpy as np


        def seats_of(votes, seats):
            won = {party: 0 for party in votes}
            last = 0.0
            for _ in range(seats):
                party = max(votes, key=lambda p: votes[p] / (won[p] + 1))
                last = votes[party] / (won[party] + 1)
                won[party] += 1
            return won, last


        def f(x):
            districts = [dict(zip("abcd", row)) for row in x[:20].reshape(5, 4)]
            national = {p: sum(d[p] for d in districts) for p in "abcd"}
            everything = sum(national.values())
            passed = [p for p in "abcd" if national[p] / everything > 0.2]
            if len(passed) < 2:
                passed = list("abcd")
            parliament, prices = dict.fromkeys(passed, 0), []
            for district in districts:
                won, price = seats_of({p: district[p] for p in passed}, 3)
                prices.append(price)
                for p, n in won.items():
                    parliament[p] += n
            first, *others = sorted(passed, key=parliament.get, reverse=True)
            if parliament[first] * 2 > sum(parliament.values()):
                return sum(prices) / 5 + x[20] * national[first] / everything
            partner = max(others, key=lambda p: national[p])
            return sum(prices) / 5 + x[21] * (national[first] + national[partner]) / everything
    '''),
    ("tennis_scoring", normal(45), '''
        """Points from rally strengths, games with deuce, sets with a tie-break, and fatigue."""

        NAMES = ["love", "fifteen", "thirty", "forty"]


        class Game:
            def __init__(self):
                self.points = [0, 0]

            def point(self, winner):
                self.points[winner] += 1
                a, b = self.points
                if max(a, b) >= 4 and abs(a - b) >= 2:
                    return 0 if a > b else 1
                return None

            def score(self):
                a, b = self.points
                if a >= 3 and b >= 3:
                    return "deuce" if a == b else "advantage"
                return NAMES[min(a, 3)] + " " + NAMES[min(b, 3)]


        def f(x):
            skill, fatigue = 0.4 * x[0], [0.0, 0.0]
            games, game, drama = [0, 0], Game(), 0.0
            for rally in x[1:]:
                margin = skill + rally - fatigue[0] + fatigue[1]
                winner = 0 if margin > 0 else 1
                fatigue[winner] += 0.02 / (1.0 + abs(margin))
                if game.score() in ("deuce", "advantage"):
                    drama += 1.0 / (1.0 + margin ** 2)
                won = game.point(winner)
                if won is not None:
                    games[won] += 1
                    game = Game()
                    fatigue = [0.9 * v for v in fatigue]
                    if games[won] >= 3 and games[won] - games[1 - won] >= 2:
                        break
            return drama + games[0] - games[1] + 5.0 * (fatigue[0] - fatigue[1])
    '''),
    ("orbit_insertion", normal(8), '''
        """Burn at periapsis until the orbit is bound, with staging, a throttle and a crash."""
        import math
        import numpy as np


        def energy(r, v):
            return 0.5 * (v @ v) - 1.0 / math.sqrt(r @ r)


        def f(x):
            r = np.array([-1.5 + 0.1 * x[0], 0.9 + 0.1 * x[1]])
            v = np.array([1.3 + 0.1 * x[2], 0.1 * x[3]])
            stages = [0.35 + 0.05 * x[4], 0.2 + 0.05 * x[5]]
            fuel, used, burning, crashed = stages.pop(0), 0.0, False, False
            closest = 10.0
            for _ in range(60):
                d = math.hypot(r[0], r[1])
                if d < 0.2:
                    crashed = True
                    break
                if d < closest:
                    closest = d
                elif not burning and energy(r, v) > -0.3:
                    burning = True
                acceleration = -r / d ** 3
                if burning:
                    throttle = 0.8 if d < 1.0 else 0.4
                    if fuel <= 0.0 and stages:
                        fuel = stages.pop(0)
                    if fuel > 0.0:
                        burn = min(fuel, 0.05 * throttle)
                        v = v - 2.0 * burn * v / math.sqrt(v @ v)
                        fuel -= burn
                        used += burn
                    if energy(r, v) < -0.5 - 0.05 * x[6]:
                        burning = False
                v = v + 0.08 * acceleration
                r = r + 0.08 * v
            return energy(r, v) + used + closest + (5.0 if crashed else 0.1 * x[7] * d)
    '''),
    ("brewing", uniform(13), '''
        """A mash with rests, a boil with hop additions by time, and a fermentation that may stick."""


        HOPS = [("bitter", 60, 0.12), ("flavour", 20, 0.05), ("aroma", 5, 0.04)]


        def rest(sugar, starch, temperature, minutes):
            for _ in range(minutes // 10):
                if temperature < 0.4:
                    rate = 0.02
                elif temperature < 0.7:
                    rate = 0.25 * temperature
                else:
                    rate = max(0.0, 0.6 - 0.5 * temperature)
                made = rate * starch
                sugar, starch = sugar + made, starch - made
            return sugar, starch


        def f(x):
            sugar, starch = 0.1, 1.5 + x[0]
            for temperature in sorted(x[1:4]):
                sugar, starch = rest(sugar, starch, 0.2 + 0.8 * temperature, 30)
                if starch < 0.3:
                    break
            bitterness = 0.0
            for (name, minutes, alpha), amount in zip(HOPS, x[4:7]):
                if amount < 0.2:
                    continue
                used = alpha * (1.0 - 0.97 ** minutes) * amount
                bitterness += used * (1.3 if name == "bitter" and sugar < 1.0 else 1.0)
            yeast, alcohol, day = 0.2 + 0.3 * x[7], 0.0, 0
            while sugar > 0.15 and day < 12:
                eaten = min(0.5 * yeast * sugar, 0.3)
                sugar -= eaten
                alcohol += 0.5 * eaten
                yeast += 0.4 * eaten if alcohol < 0.3 + 0.2 * x[8] else -0.3 * yeast
                day += 1
                if yeast < 0.05:
                    yeast += 0.1 * x[9]
            balance = bitterness / (sugar + alcohol)
            return balance + (0.2 * (balance - 0.2) ** 2 if balance > 0.2 else x[10] * sugar) + alcohol + 0.01 * day + x[11] * x[12]
    '''),
    ("battery_management", normal(26), '''
        """Cells in series: balancing, charge limits, over-temperature and a cut-off that latches until it is cool."""


        class Cell:
            def __init__(self, charge, capacity):
                self.charge, self.capacity = charge, capacity

            @property
            def voltage(self):
                s = self.charge / self.capacity
                if s < 0.1:
                    return 2.8 + 6.0 * s
                return 3.4 + 0.3 * (s - 0.1) if s < 0.9 else 3.64 + 3.0 * (s - 0.9)


        class Pack:
            def __init__(self, cells):
                self.cells, self.heat, self.latched = cells, 0.0, False

            def balance(self):
                lowest = min(c.voltage for c in self.cells)
                for c in self.cells:
                    if c.voltage - lowest > 0.05:
                        c.charge -= 0.01
                        self.heat += 0.02

            def apply(self, current):
                if self.latched:
                    current = 0.0
                for c in self.cells:
                    c.charge = min(max(c.charge + 0.1 * current, 0.0), 1.05 * c.capacity)
                self.heat += 0.1 * current ** 2 - 0.15 * self.heat
                if self.heat > 0.5:
                    self.latched = True
                elif self.latched and self.heat < 0.2:
                    self.latched = False
                return current


        def f(x):
            pack = Pack([Cell(0.5 + 0.1 * x[i], 1.0 + 0.05 * x[3 + i]) for i in range(3)])
            moved = 0.0
            for wish in x[6:]:
                voltages = [c.voltage for c in pack.cells]
                if wish > 0 and max(voltages) > 3.7:
                    wish = 0.1 * wish
                elif wish < 0 and min(voltages) < 3.2:
                    wish = 0.0
                moved += abs(pack.apply(1.2 * wish))
                pack.balance()
            return sum(c.voltage for c in pack.cells) - 10.0 + pack.heat + 0.05 * moved
    '''),
    ("glacier", normal(20), '''
        """Ice on a slope: accumulation above a snow line, flow by thickness, calving at the end."""
        import numpy as np


        def f(x):
            cells = 8
            ice = np.zeros(cells)
            heights = np.linspace(1.0, 0.0, cells)
            calved = 0.0
            for year, climate in enumerate(x[:14]):
                line = 0.5 + 0.15 * climate
                for k in range(cells):
                    change = 0.3 * (heights[k] + 0.1 * ice[k] - line)
                    if change < 0.0:
                        change = max(2.0 * change, -ice[k])
                    ice[k] += change
                for k in range(cells - 1):
                    slope = heights[k] + ice[k] - heights[k + 1] - ice[k + 1]
                    if slope > 0.0 and ice[k] > 0.0:
                        flow = min(0.4 * ice[k] ** 2 * slope, 0.3 * ice[k])
                        ice[k] -= flow
                        ice[k + 1] += flow
                if ice[-1] > 0.05:
                    calved += 0.5 * ice[-1]
                    ice[-1] *= 0.5
            end = 0
            while end < cells and ice[end] > 0.02:
                end += 1
            surge = 0.0
            for k in range(end):
                if ice[k] > 0.6 + 0.05 * x[14]:
                    surge += x[15] * (ice[k] - 0.6)
            return ice.sum() + 3.0 * calved + 0.05 * end + surge + 0.1 * np.sum(x[16:] * x[16:])
    '''),
    ("crop_rotation", uniform(20), '''
        """Choose the crop of each field and year by expected income, with rules on what may follow what."""

        FOLLOWS = {"wheat": ("beans", "rape"), "beans": ("wheat", "rape"), "rape": ("wheat", "beans", "fallow"), "fallow": ("wheat", "rape")}
        NEEDS = {"wheat": 0.25, "rape": 0.3, "beans": -0.2, "fallow": -0.1}


        def income(crop, nitrogen, price):
            if crop == "fallow":
                return 0.02
            limit = 0.8 if crop != "beans" else 0.3
            fed = nitrogen / limit if nitrogen < limit else 1.0
            return price[crop] * fed - 0.1


        def f(x):
            fields = [{"crop": "wheat", "n": 0.4 + x[0]}, {"crop": "rape", "n": 0.4 + x[1]}]
            total = 0.0
            for year in range(6):
                w, b, r = 0.4 + x[2 + 3 * year : 5 + 3 * year]
                price = {"wheat": w, "beans": 0.8 * b, "rape": r}
                taken = None
                for field in fields:
                    best, chosen = None, None
                    for crop in FOLLOWS[field["crop"]]:
                        if crop == taken:
                            continue
                        value = income(crop, field["n"], price) - 0.3 * NEEDS[crop]
                        if best is None or value > best:
                            best, chosen = value, crop
                    total += income(chosen, field["n"], price)
                    field["n"] = max(0.05, field["n"] - NEEDS[chosen])
                    field["crop"] = taken = chosen
            return total + 0.2 * sum(field["n"] for field in fields)
    '''),
    ("avalanche", normal(18), '''
        """Layers of snow: weak layers after clear nights, settling, and release at the weakest interface."""
        from collections import namedtuple

        Layer = namedtuple("Layer", "depth strength weak")


        def stability(layers, slope):
            load, least, at = 0.0, 10.0, -1
            for k in range(len(layers) - 1, -1, -1):
                load += layers[k].depth
                ratio = layers[k].strength / (slope * load + 0.1)
                if layers[k].weak:
                    ratio *= 0.6
                if ratio < least:
                    least, at = ratio, k
            return least, at


        def f(x):
            slope = 0.8 + 0.1 * x[0]
            layers = [Layer(0.5, 2.0, False)]
            released, danger = 0.0, 0.0
            for snow, wind in x[2:].reshape(-1, 2):
                if snow < -0.5:
                    top = layers[-1]
                    layers[-1] = top._replace(strength=0.7 * top.strength, weak=True)
                elif snow > 0.2:
                    depth = 0.4 * snow + (0.2 * wind if wind > 0 else 0.0)
                    layers.append(Layer(depth, 0.4 + 0.3 * abs(wind), False))
                layers = [layer._replace(strength=layer.strength * 1.1, depth=0.97 * layer.depth) for layer in layers]
                index, at = stability(layers, slope)
                if index < 0.9 and at > 0:
                    released += sum(layer.depth for layer in layers[at:])
                    del layers[at:]
                elif index < 2.0:
                    danger += (2.0 - index) ** 2
            return sum(layer.depth for layer in layers) + released + 0.1 * danger * (1.0 + 0.1 * x[1])
    '''),
    ("sailing", normal(22), '''
        """Beat to a mark: tack on shifts, lay lines, and a boat whose speed depends on the wind's angle."""
        import math


        def polar(angle):
            a = abs(angle)
            if a < 0.6:
                return 0.0
            if a < 1.6:
                return 0.8 * (a - 0.6) + 0.3
            return 1.1 - 0.2 * (a - 1.6)


        def f(x):
            east, north, tack, tacks = 0.3 * x[0], 0.0, 1, 0
            mark = (0.5 * x[1], 3.0)
            elapsed = 0.0
            for shift in x[2:]:
                wind = 0.25 * shift
                bearing = math.atan2(mark[0] - east, mark[1] - north)
                if north > mark[1]:
                    break
                off = bearing - wind
                if abs(off) > 0.85:
                    heading = bearing
                else:
                    heading = wind + 0.85 * tack
                    other = wind - 0.85 * tack
                    if abs(other - bearing) + 0.3 < abs(heading - bearing):
                        tack = -tack
                        tacks += 1
                        heading = other
                        elapsed += 0.2
                speed = polar(heading - wind)
                east += 0.3 * speed * math.sin(heading)
                north += 0.3 * speed * math.cos(heading)
                elapsed += 0.3
            left = math.hypot(mark[0] - east, mark[1] - north)
            return elapsed + 2.0 * left + 0.1 * tacks + 0.1 * east ** 2
    '''),
    ("kiln", uniform(19), '''
        """Fire a kiln by a programme of ramps and holds, with cones that fall and elements that age."""


        PROGRAMME = (("ramp", 0.3, 2), ("hold", 0.3, 1), ("ramp", 0.8, 3), ("hold", 0.8, 2), ("cool", 0.0, 4))


        class Fault(RuntimeError):
            pass


        def f(x):
            resistance, loss = 0.8 + 0.4 * x[0], 0.15 + 0.15 * x[1]
            state = dict(temperature=0.0, work=0.0, cone=None)
            supply = iter(x[3:])
            energy, penalty = 0.0, 0.0
            try:
                for kind, goal, steps in PROGRAMME:
                    for _ in range(steps):
                        volts = 0.6 + 0.6 * next(supply)
                        power = 0.0
                        if kind == "ramp" and state["temperature"] < goal:
                            power = 0.5 * volts ** 2 / resistance
                        elif kind == "hold":
                            power = min(max(goal - state["temperature"], 0.0), 0.3) + loss * goal
                        state["temperature"] += power - loss * state["temperature"]
                        energy += power
                        if state["temperature"] > 0.5:
                            state["work"] += (state["temperature"] - 0.5) ** 2
                        if state["cone"] is None and state["work"] > 0.2:
                            state["cone"] = state["temperature"]
                        if state["temperature"] > 1.1:
                            raise Fault("over temperature")
                        resistance *= 1.0 + 0.02 * power
            except Fault:
                penalty = 0.5 + state["temperature"] ** 2
            finally:
                energy += 0.05
            fallen = state["cone"]
            return energy + penalty + (0.7 - fallen) ** 2 * x[2] if fallen is not None else energy + penalty + 0.4 * x[2]
    '''),
    ("railway_signalling", uniform(15), '''
        """Three trains on blocks with signals: a train brakes at yellow, stops at red, and waits at the platform."""


        class Train:
            def __init__(self, position, top):
                self.position, self.top, self.speed, self.dwell = position, top, 0.0, 0

            @property
            def block(self):
                return int(self.position // 1.0)


        def signal(block, trains, me):
            occupied = {t.block for t in trains if t is not me}
            if block + 1 in occupied:
                return "red"
            return "yellow" if block + 2 in occupied else "green"


        def f(x):
            trains = [Train(0.3 * x[0] + 2.2 * k, 0.25 + 0.3 * x[1 + k]) for k in (2, 1, 0)]
            stops, late = 0, 0.0
            for minute in range(12):
                grip = 0.6 + 0.4 * x[4 + minute % 11]
                for train in trains:
                    if train.dwell > 0:
                        train.dwell -= 1
                        continue
                    match signal(train.block, trains, train):
                        case "red":
                            train.speed = max(0.0, train.speed - 0.3 * grip)
                            if train.speed == 0.0:
                                stops += 1
                        case "yellow":
                            train.speed = min(train.speed, 0.5 * train.top)
                        case _:
                            train.speed = min(train.top, train.speed + 0.15 * grip)
                    before = train.block
                    train.position += train.speed
                    if train.block != before and train.block % 3 == 0:
                        train.dwell = 1
                    late += (train.top - train.speed) ** 2
            return late + 0.1 * stops + 0.1 * sum(t.position for t in trains)
    '''),
    ("tide_gauge", normal(36), '''
        """High and low waters from a noisy record: gaps, spikes, smoothing, ranges and a flood alarm."""
        import math


        def repaired(values, jump):
            good = [values[0]]
            for v in values[1:]:
                if abs(v - good[-1]) > jump:
                    good.append(good[-1])
                else:
                    good.append(v)
            return good


        def turning_points(values):
            for a, b, c in zip(values, values[1:], values[2:]):
                if a < b >= c:
                    yield "high", b
                elif a > b <= c:
                    yield "low", b


        def f(x):
            amplitude, jump = 1.0 + 0.2 * x[0], 0.9 + 0.1 * abs(x[1])
            record = [amplitude * math.sin(0.7 * k) + 0.35 * v for k, v in enumerate(x[2:])]
            record = repaired(record, jump)
            smooth = [(a + b + c) / 3.0 for a, b, c in zip(record, record[1:], record[2:])]
            highs, lows, ranges, last = [], [], [], None
            for kind, level in turning_points(smooth):
                (highs if kind == "high" else lows).append(level)
                if last is not None and last[0] != kind:
                    ranges.append(abs(level - last[1]))
                last = (kind, level)
            if not highs or not lows:
                return sum(smooth)
            flood = sum(h - 0.9 for h in highs if h > 0.9)
            return max(highs) - min(lows) + 0.3 * flood + (sum(ranges) / len(ranges) if ranges else 0.0)
    '''),
    ("blood_bank", uniform(24), '''
        """Units by type and age: oldest first, substitutes by compatibility, waste after five days."""


        CAN_GIVE = {"O": ["O"], "A": ["A", "O"], "B": ["B", "O"]}


        def take(shelf, amount):
            got = 0.0
            while shelf and amount > 1e-12:
                age, units = shelf[0]
                used = units if units < amount else amount
                got += used
                amount -= used
                if used == units:
                    shelf.pop(0)
                else:
                    shelf[0] = (age, units - used)
            return got


        def f(x):
            shelves = {"O": [(0, 0.5 + x[0])], "A": [(0, 0.5)], "B": [(0, 0.2 + 0.4 * x[1])]}
            short, wasted, swapped = 0.0, 0.0, 0.0
            for day in range(7):
                need, donated, kind = x[3 + 3 * day], x[2 + 3 * day], x[4 + 3 * day] if 4 + 3 * day < 24 else x[0]
                group = "A" if kind < 0.4 else "B" if kind < 0.6 else "O"
                for name in shelves:
                    fresh = [(age + 1, u) for age, u in shelves[name]]
                    wasted += sum(u for age, u in fresh if age > 2)
                    shelves[name] = [(age, u) for age, u in fresh if age <= 2]
                shelves["O" if donated > 0.5 else group].append((0, 0.8 * donated))
                missing = 1.1 * need
                for source in CAN_GIVE[group]:
                    got = take(shelves[source], missing)
                    missing -= got
                    if source != group:
                        swapped += got
                    if missing <= 1e-9:
                        break
                else:
                    short += missing
            return 2.0 * short + 0.5 * wasted + 0.1 * swapped + 0.05 * sum(u for s in shelves.values() for _, u in s)
    '''),
    ("bus_fleet", normal(28), '''
        """Buses that bunch: boarding takes time, short gaps are held back, full buses pass by."""
        from dataclasses import dataclass


        @dataclass
        class Bus:
            at: float
            riders: float = 0.0


        def f(x):
            buses = [Bus(1.5 * k + 0.2 * x[k]) for k in range(4)]
            left_behind, lateness, passed = 0.0, 0.0, 0
            room = 1.0 + 0.2 * x[4]
            for stop in range(5):
                waiting = 0.3
                previous = None
                for k, bus in enumerate(buses):
                    bus.at += 1.0 + 0.2 * x[5 + (4 * stop + k) % 23]
                    if previous is not None and bus.at < previous:
                        bus.at = previous + 0.05
                    gap = bus.at - previous if previous is not None else 1.0
                    waiting += 0.4 * gap
                    bus.riders *= 0.6
                    if bus.riders > room:
                        passed += 1
                    else:
                        boarding = min(waiting, room - bus.riders)
                        bus.riders += boarding
                        waiting -= boarding
                        bus.at += 0.3 * boarding
                    if gap < 0.6 and stop < 4:
                        bus.at += 0.5 * (0.6 - gap)
                    lateness += max(0.0, bus.at - (stop + 1) * 1.2 - 1.5 * k)
                    previous = bus.at
                left_behind += waiting
            return left_behind + 0.3 * lateness + 0.1 * passed + sum(b.riders ** 2 for b in buses)
    '''),
    ("greenhouse", uniform(30), '''
        """Vents, heating, shading and misting that switch each other off, with a log of what was done."""


        class Greenhouse:
            limits = {"hot": 0.75, "cold": 0.3, "dry": 0.35}

            def __init__(self, temperature, humidity):
                self.temperature, self.humidity = temperature, humidity
                self.on, self.log, self.cost = set(), [], 0.0

            def switch(self, name, wanted):
                if wanted and name not in self.on:
                    self.on.add(name)
                    self.log.append(name)
                    self.cost += 0.02
                elif not wanted:
                    self.on.discard(name)

            def decide(self):
                self.switch("vent", self.temperature > self.limits["hot"])
                self.switch("heat", self.temperature < self.limits["cold"] and "vent" not in self.on)
                self.switch("mist", self.humidity < self.limits["dry"] or (self.temperature > 0.9 and self.humidity < 0.6))

            def hour(self, sun, outside):
                self.temperature += 0.4 * sun + 0.2 * (outside - self.temperature)
                self.humidity += 0.1 - 0.25 * self.temperature * self.humidity
                if "vent" in self.on:
                    self.temperature += 0.3 * (outside - self.temperature)
                    self.humidity *= 0.85
                if "heat" in self.on:
                    self.temperature += 0.2
                    self.cost += 0.1
                if "mist" in self.on:
                    self.humidity += 0.15
                    self.temperature -= 0.05


        def f(x):
            house = Greenhouse(x[0], x[1])
            growth = 0.0
            for sun, outside in x[2:].reshape(14, 2):
                house.decide()
                house.hour(0.7 * sun, 0.8 * outside - 0.2)
                if 0.3 < house.temperature < 0.9 and house.humidity > 0.2:
                    growth += sun * house.temperature
            return growth - house.cost + 0.02 * house.log.count("vent") * x[0] + 0.1 * house.humidity
    '''),
    ("vending_machine", uniform(20), '''
        """Prices that follow demand, change that may run out, and customers who give up."""
        from enum import Enum, auto


        class State(Enum):
            IDLE = auto()
            PAID = auto()
            OUT_OF_ORDER = auto()


        class NoChange(ValueError):
            pass


        class Machine:
            def __init__(self, price, float_):
                self.price, self.till, self.state = price, float_, State.IDLE
                self.stock = {"tea": 5, "soup": 4}

            def sell(self, item, paid):
                if self.stock[item] == 0:
                    raise KeyError(item)
                change = paid - self.price[item]
                if change > self.till:
                    raise NoChange(change)
                self.stock[item] -= 1
                self.till += self.price[item]
                self.price[item] *= 1.05 if self.stock[item] < 3 else 1.0
                return change


        def f(x):
            machine = Machine({"tea": 0.4 + 0.2 * x[0], "soup": 0.5 + 0.3 * x[1]}, 0.1 + 0.2 * x[2])
            happiness, failures = 0.0, 0
            for money in 1.2 * x[4:]:
                if machine.state is State.OUT_OF_ORDER:
                    machine.till += 0.2 * x[3]
                    machine.state = State.IDLE
                    continue
                wish = "soup" if money > 0.8 else "tea"
                if money < machine.price[wish]:
                    happiness -= 0.1 * (machine.price[wish] - money)
                    continue
                machine.state = State.PAID
                try:
                    happiness += 0.5 - 0.2 * machine.sell(wish, money)
                except NoChange:
                    failures += 1
                    happiness -= 0.2 * money
                except KeyError as sold_out:
                    (item,) = sold_out.args
                    machine.price[item] *= 0.9
                finally:
                    machine.state = State.IDLE
                if failures and failures % 3 == 0:
                    machine.state = State.OUT_OF_ORDER
            return machine.till + happiness - 0.05 * failures
    '''),
    ("post_office", uniform(20), '''
        """Sort parcels into classes by weight and size, pack bags first-fit, and charge for part-filled bags."""
        from operator import itemgetter


        def postage(weight, side):
            if weight < 0.25 and side < 0.5:
                return "letter", 0.1 + 0.2 * weight
            if weight < 0.6:
                return "packet", 0.25 + 0.3 * weight + (0.1 * (side - 0.7) if side > 0.7 else 0.0)
            return "parcel", 0.5 + 0.4 * weight ** 1.5


        def f(x):
            parcels = [(postage(w, s), w) for w, s in x.reshape(-1, 2)]
            income = {}
            for (kind, price), _ in parcels:
                income.setdefault(kind, []).append(price)
            bags = []
            for weight in sorted(map(itemgetter(1), parcels), reverse=True):
                for bag in bags:
                    if sum(bag) + weight <= 1.0:
                        bag.append(weight)
                        break
                else:
                    bags.append([weight])
            cost = 0.0
            for bag in bags:
                filled = sum(bag)
                cost += 0.3 if len(bag) > 1 else 0.2
                if filled < 0.8:
                    cost += 0.3 * (0.8 - filled) ** 2
            total = sum(sum(prices) for prices in income.values())
            discount = 0.9 if len(income.get("parcel", ())) >= 4 else 1.0
            return discount * total - cost
    '''),
    ("dentist", normal(25), '''
        """A day of appointments that overrun, cancellations, a lunch break, and patients squeezed in."""


        def f(x):
            clock, overtime, income = 0.0, 0.0, 0.0
            squeezed = [0.2 + 0.1 * abs(v) for v in x[:4]]
            lunch_taken = False
            for n, (length, mood) in enumerate(x[5:].reshape(10, 2)):
                due = 0.5 * n
                if mood < -1.3:
                    if squeezed and clock <= due + 0.1:
                        work = squeezed.pop()
                        clock = max(clock, due) + work
                        income += 1.2 * work
                    continue
                if not lunch_taken and clock > 2.3:
                    clock += max(0.2, 0.5 - 0.3 * max(clock - 2.5, 0.0))
                    lunch_taken = True
                start = max(clock, due)
                late = start - due
                if late > 0.6 and mood > 0.8:
                    income -= 0.1 * late
                    continue
                work = 0.4 + 0.15 * length
                if work <= 0.15:
                    work = 0.15
                elif work > 0.6:
                    income += 0.5 * (work - 0.6)
                clock = start + work
                income += work
                overtime += max(0.0, clock - 5.0)
            return income - 0.5 * overtime ** 2 + 0.1 * sum(squeezed) * x[4]
    '''),
)  # fmt: skip

PROGRAMS = tuple(
    Program(name, "trade", textwrap.dedent(text).strip("\n") + "\n", points_of(name, draw))
    for name, draw, text in TRADES
)
