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
)  # fmt: skip

PROGRAMS = tuple(
    Program(name, "trade", textwrap.dedent(text).strip("\n") + "\n", points_of(name, draw))
    for name, draw, text in TRADES
)
